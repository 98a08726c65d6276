"""Marks of failed starts: what one covers, whether a launch is covered, and what is told about it."""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dsv4deploy.model.diagnostic import Diagnostic, Level, Report
from dsv4deploy.model.effective import Effective, Outcome
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.launch import Json, Launch
from dsv4deploy.model.mark import Condition, Core, Host, Mark, Sighting, Success
from dsv4deploy.model.patch import Patch
from dsv4deploy.model.place import Place
from dsv4deploy.node.scrub import scrubbed, scrubbed_tree, secret_name, secrets_of
from dsv4deploy.stages.situation import DEFAULTS, Situation

PREFIX: Final = "mark:"
MOST_LINES: Final = 40
_WIDEST: Final = 500
# The failure of a server that runs, under the load that its profile promises.
_UNDER_LOAD: Final = "capacity-failed"
# Settings that cannot decide whether a start fails: changing them does not evade a mark.
IMMATERIAL: Final = re.compile(
    r"host|port|.*_port|dist_init_addr|model_path|served_model_name|.*_service_name|forward_pass_metrics_.*|random_seed|"
    r"log_.*|decode_log_interval|uvicorn_.*|.*_logging|.*metrics.*|.*_metric_.*|bucket_.*|.*trace.*|otlp_.*|warmups|"
    r"api_key|admin_api_key|ssl_.*|reasoning_parser|tool_call_parser|tool_server|.*_template|hf_chat_template_name|"
    r"download_dir|file_storage_path|gc_warning_threshold_secs"
)
IMMATERIAL_VARIABLES: Final = re.compile(
    r".*LOG.*|.*METRIC.*|.*TRACE.*|OTEL_.*|NCCL_DEBUG.*|.*_CACHE(_DIR|_PATH|_ROOT)?|XDG_.*|HF_HOME|HOME|USER|TZ|LANG|"
    r"LC_.*|PATH|TMPDIR|PROMETHEUS_.*|.*_PORT|DSV4_REHEARSAL_SPEED"
)
# What tells one model from another, as far as somebody has read its config.json.
MODEL_KEYS: Final = (
    "model_type", "num_hidden_layers", "hidden_size", "num_attention_heads", "n_routed_experts", "vocab_size",
    "quant_method", "quant_algo", "moe_quant_algo",
)  # fmt: skip
# Failures of the place and not of the configuration: another try may go well without any change.
INFRASTRUCTURE: Final = frozenset(
    {
        "port-in-use", "gpu-busy", "gpu-fault", "host-limit", "permission", "path-missing", "sigkill",
        "weights-missing", "weights-corrupt", "dist-init-timeout", "client-mismatch", "request-rejected",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """One launch that is held against marks: what is written, what takes effect, and the stack it meets."""

    launch: Launch
    effective: Effective
    facts: Facts
    catalogue: Catalogue | None = None
    patches: tuple[Patch, ...] = ()
    rehearsal: bool = False
    venv: str | None = None
    demand: Mapping[str, int] = field(default_factory=dict)

    def outcome(self, dest: str) -> Outcome:
        """What becomes of one argument."""
        return Situation(self.launch, self.facts, self.catalogue, effective=self.effective).outcome(dest)

    def default(self, dest: str) -> Json:
        """What the engine takes if nobody says anything."""
        defaults = self.catalogue.defaults if self.catalogue else DEFAULTS
        return defaults.get(dest, DEFAULTS.get(dest))


def core_of(one: Candidate) -> Core:
    """The part of the stack that a failure belongs to."""
    path = one.launch.settings.get("model_path")
    known = {key: plain(value) for key in MODEL_KEYS if (value := getattr(one.facts.model, key)) is not None}
    return Core(
        engine_version=one.launch.version or one.facts.engine_version,
        build=one.launch.build,
        patches=tuple(sorted(patch.digest for patch in one.patches)),
        arch=one.facts.arch,
        model=str(path.value).rstrip("/").rpartition("/")[2] if path else "",
        model_facts=known,
        rehearsal=one.rehearsal,
    )


def host_of(facts: Facts) -> Host:
    """The versions below the engine, as far as they are known."""
    return Host(**{key: getattr(facts, key) for key in Host.model_fields})


def condition_of(one: Candidate) -> Condition:
    """What was started, without what cannot matter, and without secrets."""
    settings: dict[str, Any] = {}
    written: dict[str, Any] = {}
    for dest, outcome in one.effective.settings.items():
        if not _matters(dest):
            continue
        default = one.default(dest)
        said = default if outcome.written is None else outcome.written
        if outcome.needs:
            written[dest] = plain(outcome.written)
        elif not same(outcome.value, default) or not same(said, default):
            settings[dest] = plain(outcome.value)
            if not same(outcome.written, outcome.value):
                written[dest] = plain(outcome.written)
    return Condition(
        settings=scrubbed_tree(settings), written=scrubbed_tree(written), environment=_variables(one.launch)
    )


def key_of(one: Candidate) -> str:
    """Sixteen hex digits over configuration and stack together."""
    parts = [_dumped(condition_of(one)), core_of(one).model_dump(), host_of(one.facts).model_dump()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def worth_a_mark(answer: Mapping[str, Any]) -> bool:
    """Whether what the judge answered is a failure of the configuration.

    A start that was only late, was stopped by us, or failed because of the place it ran in is none.
    """
    return (
        answer.get("state") in {"failed", "hung"}
        and not answer.get("late")
        and bool(answer.get("root"))
        and answer.get("class") not in INFRASTRUCTURE
    )


def mark_of(one: Candidate, answer: Mapping[str, Any], report: Report, *, name: str, node: str, at: str) -> Mark:
    """The mark of a start that failed.

    Args:
        one: what was started.
        answer: what the judge said of it: `class`, `stage`, `root`, `lines`, `digest`, and the `rules` it may confirm.
        report: what was told of the launch before; a rule is confirmed only if it found something here.
        name: of the deployment.
        node: as the inventory names it.
        at: the time, `2026-11-29T15:20:11Z`.
    """
    found = {diagnostic.rule for diagnostic in report.diagnostics} | {gone.diagnostic.rule for gone in report.waived}
    rule = next((one for one in answer.get("rules") or () if one in found), None)
    kind = answer.get("class")
    core, condition = core_of(one), condition_of(one)
    if kind == _UNDER_LOAD:
        condition = condition.model_copy(update={"demand": dict(one.demand)})
    known = secrets_of(
        [word for setting in one.launch.settings.values() for word in setting.words],
        {variable.name: variable.value for variable in one.launch.environment.values()},
    )
    parts = [kind, rule, core.model_dump(), _dumped(condition)]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]
    lines = [scrubbed(str(line), known)[:_WIDEST] for line in answer.get("lines") or ()]
    sighting = Sighting(
        at=at,
        node=node,
        release=str(answer.get("digest") or "")[:12],
        stage=answer.get("stage"),
        root=scrubbed(str(answer.get("root") or ""), known)[:_WIDEST],
        host=host_of(one.facts),
    )
    return Mark.model_validate(
        {
            "id": re.sub(r"[^a-z0-9_.-]", "-", f"{kind or 'unrecognised'}-{name.lower()}-{digest}"),
            "name": name,
            "class": kind,
            "rule": rule,
            "core": core,
            "condition": condition,
            "excerpt": tuple(lines[-MOST_LINES:]),
            "sightings": (sighting,),
        }
    )


def with_sightings(mark: Mark, others: Sequence[Sighting]) -> Mark:
    """The mark with further sightings; the same one is not added twice, and a retired mark counts again."""
    sightings = tuple(sorted({one.model_dump_json(): one for one in (*mark.sightings, *others)}.values(), key=_when))
    return mark.model_copy(update={"sightings": sightings, "retired": None})


def marked(
    one: Candidate, report: Report, marks: Sequence[Mark], retried: Collection[str] = ()
) -> tuple[Diagnostic, ...]:
    """What the marks say to a launch: errors where it failed on this stack, warnings and notes where the stack differs.

    Args:
        one: what is to be started.
        report: what was told of it before; a mark that confirms a rule covers whatever that rule finds.
        marks: those beside the profile.
        retried: ids of marks that are to be tried again on purpose.
    """
    places = {diagnostic.rule: diagnostic.place for diagnostic in report.diagnostics}
    places |= {gone.diagnostic.rule: gone.diagnostic.place for gone in report.waived}
    living = [mark for mark in marks if mark.retired is None]
    covering = [mark for mark in living if (mark.rule in places if mark.rule else False) or covers(mark, one)]
    return tuple(_told(mark, one, places.get(mark.rule or ""), retried) for mark in covering)


def covers(mark: Mark, one: Candidate) -> bool:
    """Whether the launch is the configuration that failed, on whichever stack: in what takes effect or in every word.

    Where it failed under load, at least as much must be promised again.
    """
    if any(one.demand.get(kind, 0) < amount for kind, amount in mark.condition.demand.items()):
        return False
    if mark.condition.environment != _variables(one.launch):
        return False
    dests = {*mark.condition.settings, *mark.condition.written, *filter(_matters, one.effective.settings)}
    return all(_same_effect(mark, one, dest) for dest in dests) or all(_same_words(mark, one, dest) for dest in dests)


def last_success(one: Candidate, successes: Sequence[Success]) -> Success | None:
    """When this very configuration was ready on this very stack last; None: never, as far as anybody knows."""
    key = key_of(one)
    return max((success for success in successes if success.key == key), key=lambda success: success.at, default=None)


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same to the engine, however they were written down."""
    return json.dumps(plain(one), sort_keys=True) == json.dumps(plain(other), sort_keys=True)


def plain(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """The value as JSON holds it."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _dumped(condition: Condition) -> dict[str, Any]:
    """The parts that tell one condition from another; most have no demand."""
    return condition.model_dump(exclude=None if condition.demand else {"demand"})


def _when(sighting: Sighting) -> tuple[str, str]:
    return sighting.at, sighting.node


def _matters(dest: str) -> bool:
    return not IMMATERIAL.fullmatch(dest)


def _variables(launch: Launch) -> dict[str, str]:
    return {
        name: scrubbed(variable.value)
        for name, variable in sorted(launch.environment.items())
        if not IMMATERIAL_VARIABLES.fullmatch(name) and not secret_name(name)
    }


def _same_effect(mark: Mark, one: Candidate, dest: str) -> bool:
    """Whether the same takes effect; where nobody can tell, whether the same is written."""
    settings, mine = mark.condition.settings, one.outcome(dest)
    if mine.needs or (dest in mark.condition.written and dest not in settings):
        return _same_words(mark, one, dest)
    return same(scrubbed_tree(plain(mine.value)), settings.get(dest, plain(one.default(dest))))


def _same_words(mark: Mark, one: Candidate, dest: str) -> bool:
    settings, written, default = mark.condition.settings, mark.condition.written, plain(one.default(dest))
    said, once = one.outcome(dest).written, written.get(dest, settings.get(dest, default))
    return same(default if said is None else scrubbed_tree(plain(said)), default if once is None else once)


def _told(mark: Mark, one: Candidate, place: Place | None, retried: Collection[str]) -> Diagnostic:
    last, elsewhere = mark.last, list(_differences(mark.core, core_of(one)))
    level, stack = _judged(mark, one)
    if elsewhere:
        level, stack = Level.NOTE, f"that was with {'; '.join(elsewhere)}: it does not block"
    elif mark.id in retried:
        level, stack = Level.NOTE, f"{stack}; tried again on request"
    day, clock = last.at[:10], last.at[11:16]
    failed = f"{mark.class_ or 'a failure that was not recognised'} in {last.stage or 'its start'}"
    return Diagnostic(
        rule=f"{PREFIX}{mark.id}",
        level=level,
        message=f"failed on {day} at {clock} UTC on {last.node}: {failed}; {stack}",
        names=(f"rule:{mark.rule}",) if mark.rule else (),
        place=place,
        effect=_effect(mark),
        evidence=(f"{_times(mark)}: {last.root}", *(["every sighting was a rehearsal"] if mark.core.rehearsal else [])),
        remedy=f"{'promise less, or ' if mark.condition.demand else ''}change what failed; "
        f"to try it all the same: apply --retry {mark.id}; "
        f"if it holds no more: dsv4deploy marks retire {mark.id} --because REASON",
    )


def _effect(mark: Mark) -> str:
    if mark.rule:
        return f"It confirms the rule {mark.rule}."
    if mark.condition.demand:
        load = ", ".join(f"health.{kind} {amount}" for kind, amount in mark.condition.demand.items())
        return f"Only this whole configuration is known to have failed, under a load of {load}; less was not tried."
    return "Only this whole configuration is known to have failed; which part of it is to blame is not known."


def _judged(mark: Mark, one: Candidate) -> tuple[Level, str]:
    """How much it counts by the host, and what is said of the stack."""
    mine = host_of(one.facts)
    hosts = [list(_differences(sighting.host, mine)) for sighting in mark.sightings]
    compared = [_common(sighting.host, mine) for sighting in mark.sightings]
    if any(common and not differs for common, differs in zip(compared, hosts, strict=True)):
        return Level.ERROR, "this is the very stack"
    if not all(compared):
        return Level.ERROR, "the engine is the same, the host is unverified"
    return Level.WARNING, f"the engine is the same, the host had {'; '.join(hosts[-1])}"


def _common(theirs: Host, mine: Host) -> bool:
    return any(getattr(theirs, key) and getattr(mine, key) for key in Host.model_fields)


_WORDS: Final = {
    "engine_version": "SGLang", "build": "build", "patches": "patches", "arch": "architecture", "model": "model",
    "sgl_kernel": "kernel package", "nccl": "NCCL", "cuda": "CUDA",
}  # fmt: skip


def _differences(theirs: Core | Host, mine: Core | Host) -> Iterator[str]:
    """What differs, in words; what one side does not know does not differ."""
    models = _models(theirs, mine)
    for key in type(theirs).model_fields:
        then, now = getattr(theirs, key), getattr(mine, key)
        if key in {"model", "model_facts"}:
            continue
        known = key in {"build", "patches", "rehearsal"} or (then is not None and now is not None)
        if known and then != now:
            yield f"{_WORDS.get(key, key)} {_short(then)} and not {_short(now)}"
    yield from models


def _models(theirs: Core | Host, mine: Core | Host) -> tuple[str, ...]:
    """Whether the models differ: by what was read of both, else by their names."""
    if not isinstance(theirs, Core) or not isinstance(mine, Core):
        return ()
    shared = theirs.model_facts.keys() & mine.model_facts.keys()
    other = any(theirs.model_facts[key] != mine.model_facts[key] for key in shared)
    if other or (not shared and theirs.model != mine.model):
        return (f"the model {theirs.model or 'of no name'} and not {mine.model or 'of no name'}",)
    return ()


def _short(value: Any) -> str:  # noqa: ANN401 (a field of a stack)
    if isinstance(value, tuple):
        return ", ".join(str(one)[:12] for one in value) or "none"
    return "none" if value is None else str(value)


def _times(mark: Mark) -> str:
    count, nodes = len(mark.sightings), sorted({one.node for one in mark.sightings})
    return "seen once" if count == 1 else f"seen {count} times on {', '.join(nodes)}"
