"""One launch on one node, as somebody to ask: answers every subject a rule can name, or says which fact is missing."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from dsv4deploy.model.effective import Basis, Effective, Outcome
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.launch import Json, Launch
from dsv4deploy.model.rule import Ask, Missing
from dsv4deploy.stages.releases import NEWEST_NAME, RELEASES, SPELLINGS
from dsv4deploy.stages.traits import TRAITS


class Decided(NamedTuple):
    """What a resolver says about one argument."""

    value: Json
    why: str
    basis: Basis = Basis.READ


Resolver: TypeAlias = Callable[[Ask], Decided | None]
"""What the engine makes of one argument; None: it leaves it as written. Raises `Missing`."""

# Defaults that hold in every release, for judging without a catalogue.
DEFAULTS: Mapping[str, Json] = {
    "tp_size": 1, "pp_size": 1, "dp_size": 1, "ep_size": 1, "attn_cp_size": 1, "nnodes": 1, "node_rank": 0,
    "host": "127.0.0.1", "port": 30000, "attention_backend": None, "moe_runner_backend": "auto",
    "fp8_gemm_runner_backend": "auto", "fp4_gemm_runner_backend": "auto", "moe_a2a_backend": "none",
    "deepep_mode": "auto", "kv_cache_dtype": "auto", "torch_compile_max_bs": 32, "disaggregation_mode": "null",
    "disaggregation_transfer_backend": "mooncake", "load_format": "auto", "dtype": "auto",
    "hicache_write_policy": "write_through", "schedule_policy": "fcfs",
}  # fmt: skip


class Situation:
    """Answers subjects; every answer is worked out once.

    Args:
        launch: what is to be started.
        facts: what is known of node, engine and model.
        catalogue: the arguments of this engine version, for their defaults.
        resolvers: what the engine makes of its arguments, by dest and by `env:NAME`.
        effective: what has been settled before; takes the place of `resolvers`.
        profile: the profile's own keys by path, for `profile:PATH`.
    """

    def __init__(
        self,
        launch: Launch,
        facts: Facts,
        catalogue: Catalogue | None = None,
        *,
        resolvers: Mapping[str, Resolver] | None = None,
        effective: Effective | None = None,
        profile: Mapping[str, Json] | None = None,
    ) -> None:
        self.launch = launch
        self.facts = facts
        self.catalogue = catalogue
        self.resolvers = resolvers or {}
        self.effective = effective
        self.profile = profile or {}
        self.version = launch.version or facts.engine_version
        self._known: dict[str, Any] = {}
        self._missing: dict[str, tuple[str, ...]] = {}
        self._kinds: Mapping[str, Callable[[str], Any]] = {
            "setting": self._setting, "written": self.written, "env": self._variable, "fact": self._fact,
            "trait": self._trait, "profile": self.profile.get, "patch": self._patch, "patched": launch.patching,
        }  # fmt: skip

    def ask(self, subject: str) -> Any:  # noqa: ANN401 (an argument of the engine may hold anything)
        """The answer to `kind:name`.

        Raises:
            Missing: the answer depends on facts that are not known.
            KeyError: no fact or trait has this name.
        """
        if subject in self._known:
            return self._known[subject]
        if subject in self._missing:
            raise Missing(*self._missing[subject])
        kind, _, name = subject.partition(":")
        try:
            answer = self._known[subject] = self._kinds[kind](name)
        except Missing as missing:
            self._missing[subject] = missing.needs
            raise
        return answer

    def written(self, key: str) -> Json:
        """What stands there for a dest, under whichever of its names, or for `env:NAME`; None if nothing does.

        Raises:
            Missing: something stands there, or may, that cannot be read.
        """
        launch = self.launch
        if key.startswith("env:"):
            name = key.removeprefix("env:")
            # Every release copies a variable of the old prefix over that of the new one before it reads any.
            old = launch.environment.get(name.replace("SGLANG_", "SGL_", 1)) if name.startswith("SGLANG_") else None
            variable = old or launch.environment.get(name)
            if variable is None and key in launch.unsaid:
                raise Missing(*launch.unsaid[key])
            return variable.value if variable else None
        names = SPELLINGS.get(key, (key,))
        for name in names:
            if name in launch.settings:
                return launch.settings[name].value
        needs = next((launch.unsaid[name] for name in names if name in launch.unsaid), launch.further)
        if needs:
            raise Missing(*needs)
        return None

    def outcome(self, key: str) -> Outcome:
        """What becomes of one dest or `env:NAME`; never raises `Missing` but carries its needs."""
        if (settled := self._settled(key)) is not None:
            return settled
        written = None
        try:
            written = self.written(key)
            decided = self._decide(key)
        except Missing as missing:
            return Outcome(key, None, written, needs=missing.needs)
        if decided is None:
            return Outcome(key, self._as_written(key), written)
        return Outcome(key, decided.value, written, decided.why, decided.basis)

    def _settled(self, key: str) -> Outcome | None:
        if self.effective is None:
            return None
        if key.startswith("env:"):
            return self.effective.environment.get(key.removeprefix("env:"))
        return self.effective.settings.get(key)

    def _decide(self, key: str) -> Decided | None:
        resolver = self.resolvers.get(key)
        if resolver is None:
            return None
        try:
            return resolver(self.ask)
        except Missing as missing:
            if "engine_version" not in missing.needs:
                raise
            return self._whatever_the_version(key, resolver, missing)

    def _whatever_the_version(self, key: str, resolver: Resolver, missing: Missing) -> Decided | None:
        """The one answer that every release gives."""
        answers = []
        for release in RELEASES:
            facts = self.facts.model_copy(update={"engine_version": release})
            other = Situation(self.launch, facts, self.catalogue, resolvers=self.resolvers, profile=self.profile)
            answers.append(resolver(other.ask))
        as_written = Decided(self._as_written(key), "")
        if len({repr((answer or as_written).value) for answer in answers}) > 1:
            raise missing
        return answers[-1]

    def _as_written(self, key: str) -> Json:
        """As written, else the default."""
        if (written := self.written(key)) is not None or key.startswith("env:"):
            return written
        found = self.catalogue.defaults.get(key) if self.catalogue else None
        # The flags of a fork may come without what they default to.
        return DEFAULTS.get(key) if found is None else found

    def _setting(self, dest: str) -> Json:
        return self._value(NEWEST_NAME.get(dest, dest))

    def _variable(self, name: str) -> Json:
        return self._value(f"env:{name}")

    def _value(self, key: str) -> Json:
        if key not in self.resolvers and self._settled(key) is None:
            return self._as_written(key)
        outcome = self.outcome(key)
        if outcome.needs:
            raise Missing(*outcome.needs)
        return outcome.value

    def _fact(self, key: str) -> object:
        value = {"engine_version": self.version, "engine_build": self.launch.build}.get(key) or self.facts.get(key)
        if value is None:
            raise Missing(key)
        return value

    def _patch(self, name: str) -> tuple[str, ...] | None:
        laid = self.launch.patches.get(name)
        return (laid.kind, laid.digest) if laid else None

    def _trait(self, name: str) -> object:
        return TRAITS[name](self.ask)
