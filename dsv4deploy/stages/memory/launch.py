"""The memory account of a launch as the rest of the house knows it, its diagnostics where the settings were written."""

from dataclasses import replace

from dsv4deploy.model.checkpoint import Checkpoint
from dsv4deploy.model.diagnostic import Diagnostic
from dsv4deploy.model.effective import Effective
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Launch
from dsv4deploy.model.memory import Account, Measured, Workload
from dsv4deploy.stages.memory.fit import fit


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
    settings = {dest: outcome.value for dest, outcome in effective.settings.items() if not outcome.needs}
    account = fit(launch.version, settings, facts, checkpoint, workload=workload, measured=measured)
    hidden = dict.fromkeys((*launch.further, *(need for needs in launch.unsaid.values() for need in needs)))
    if hidden:
        return replace(account, diagnostics=(), needs=(*account.needs, *hidden))
    return replace(account, diagnostics=tuple(_placed(told, launch) for told in account.diagnostics))


def _placed(told: Diagnostic, launch: Launch) -> Diagnostic:
    """At the first of its subjects that somebody wrote."""
    written = {setting.flag: setting.place for setting in launch.settings.values()}
    return replace(told, place=next((written[name] for name in told.names if written.get(name)), None))
