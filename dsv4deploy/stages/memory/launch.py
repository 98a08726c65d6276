"""The memory account of a launch as the rest of the house knows it, its diagnostics where the settings were written."""

from collections.abc import Mapping
from dataclasses import replace

from dsv4deploy.model.checkpoint import Checkpoint
from dsv4deploy.model.diagnostic import Diagnostic
from dsv4deploy.model.effective import Effective
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Json, Launch
from dsv4deploy.model.memory import Account, Measured, Workload
from dsv4deploy.stages.memory.fit import fit
from dsv4deploy.stages.releases import NEWEST_NAME


class _Asked(dict[str, Json]):
    """Settings that note what would tell those that are asked for, are written, and cannot be read."""

    def __init__(self, settings: Mapping[str, Json], unsaid: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(settings)
        self._unsaid = {NEWEST_NAME.get(dest, dest): needs for dest, needs in unsaid.items()}
        self.needs: dict[str, None] = {}

    def get(self, key: str, default: Json = None) -> Json:  # type: ignore[override]  # (what is asked for is JSON)
        self.needs.update(dict.fromkeys(self._unsaid.get(key, ())))
        return super().get(key, default)


def account_of(
    launch: Launch,
    effective: Effective,
    facts: Facts,
    checkpoint: Checkpoint | None = None,
    *,
    workload: Workload | None = None,
    measured: Measured | None = None,
) -> Account:
    """As `fit`, for a launch and what takes effect of it; a setting that nobody can tell counts as not given."""
    settled = {dest: outcome.value for dest, outcome in effective.settings.items() if not outcome.needs}
    settings = _Asked(settled, launch.unsaid)
    account = fit(launch.version, settings, facts, checkpoint, workload=workload, measured=measured)
    if hidden := (*settings.needs, *launch.further):
        # Sizes that are not known make no diagnostic.
        return replace(account, diagnostics=(), needs=tuple(dict.fromkeys((*account.needs, *hidden))))
    return replace(account, diagnostics=tuple(_placed(told, launch) for told in account.diagnostics))


def _placed(told: Diagnostic, launch: Launch) -> Diagnostic:
    """At the first of its subjects that somebody wrote."""
    written = {setting.flag: setting.place for setting in launch.settings.values()}
    return replace(told, place=next((written[name] for name in told.names if written.get(name)), None))
