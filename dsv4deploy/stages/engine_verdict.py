"""What we say about a launch, held against what the installed engine itself says."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.effective import Basis, Effective, Outcome
from dsv4deploy.model.engine_answer import EngineAnswer, EngineQuestion, Gpu
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Json, Setting
from dsv4deploy.source.argv import parse
from dsv4deploy.stages.releases import SPELLINGS, version
from dsv4deploy.stages.seen import Seen

ARCH = re.compile(r"sm_(\d+)(\d)[a-z]?")
# What its resolver needs to know of the cards.
NEEDED = ("arch", "gpu_memory_mib", "gpu_count")
REPORT = "please report it to dsv4deploy with the launch and this output"
# What takes effect of these shows only while the model runs: the resolver leaves them as written.
LATER = {"enable_torch_compile"}
# What it leaves to the code that loads the model.
OPEN = (None, "auto")


def second_opinion(seen: Seen, ask: Callable[[EngineQuestion], EngineAnswer]) -> tuple[Diagnostic, ...]:
    """Where the engine and we disagree; that we agree is worth a note, that it could not be asked a warning."""
    if seen.words is None:
        return (_not_asked("the engine is not asked: some argument words are not known"),)
    answer = ask(_question(seen, seen.words))
    wanted = seen.launch.version or seen.facts.engine_version
    if answer.unable:
        return (_not_asked(f"the engine cannot be asked: {answer.unable}"),)
    if wanted is None or version(answer.version or "") != version(wanted):
        ours = f"this launch is for {wanted}" if wanted else "which version this launch is for is not known"
        return (_not_asked(f"the engine asked is SGLang {answer.version}; {ours}"),)
    return tuple(_differences(seen, seen.words, answer)) or (_agrees(seen, answer),)


def _question(seen: Seen, words: Sequence[str]) -> EngineQuestion:
    """What to ask the engine about the launch whose argument words are `words`."""
    # Others, such as a path of libraries, are about the machine that it will run on.
    own = {name: one.value for name, one in seen.launch.environment.items() if name.startswith("SGLANG_")}
    return EngineQuestion(tuple(words), own, _gpu(seen.facts))


def _gpu(facts: Facts) -> Gpu | None:
    arch = ARCH.fullmatch(facts.arch or "")
    if not arch or facts.gpu_memory_mib is None or facts.gpu_count is None:
        return None
    return Gpu(facts.gpu_name or "NVIDIA", int(arch[1]), int(arch[2]), facts.gpu_memory_mib, facts.gpu_count)


def _not_asked(message: str) -> Diagnostic:
    return Diagnostic(
        "engine-not-asked",
        Level.WARNING,
        message,
        effect="the answer is ours alone",
        remedy="give the Python of the environment that serves: --engine-python VENV/bin/python",
    )


def _agrees(seen: Seen, answer: EngineAnswer) -> Diagnostic:
    engine = f"the installed SGLang {answer.version}"
    if answer.refused:
        return _note(f"{engine} refuses it too: {answer.refused}")
    if answer.resolved is not None:
        both = len([*_comparable(seen.effective, answer.resolved)])
        return _note(f"{engine} reads the arguments as we do, and agrees on {both} settings in effect")
    missing = [key for key in NEEDED if seen.facts.get(key) is None]
    why = answer.unresolved or f"needs {', '.join(missing) or 'an arch such as sm_120'}"
    return _note(f"{engine} reads the arguments as we do; what takes effect it could not say: {why}")


def _note(message: str) -> Diagnostic:
    return Diagnostic("engine-agrees", Level.NOTE, message)


def _differences(seen: Seen, words: Sequence[str], answer: EngineAnswer) -> Iterator[Diagnostic]:
    told = _Differences(seen, f"enforced: SGLang {answer.version} itself, run without a GPU")
    if answer.refused and not seen.report.blocks:
        yield told.refusal(answer.refused)
    if answer.parsed is None:
        return
    ours = parse(words, seen.catalogue)
    if ours.errors:
        spelled = sorted({words[at] for error in ours.errors for at in error.words[:1]})
        yield told.difference(f"SGLang accepts what we refuse: {', '.join(spelled) or 'a missing flag'}")
    for dest, value in ours.values.items():
        if dest in answer.parsed and _json(value) != answer.parsed[dest]:
            yield told.setting(dest, f"is read as {answer.parsed[dest]}", f"{value}")
    for outcome, theirs in _comparable(seen.effective, answer.resolved or {}):
        if _json(outcome.value) != theirs:
            yield told.setting(outcome.dest, f"ends up as {theirs}", f"{outcome.value} ({outcome.why or 'as written'})")


def _comparable(effective: Effective, resolved: Mapping[str, Json]) -> Iterator[tuple[Outcome, Json]]:
    """What both claim to know; what the engine leaves open is decided while it loads."""
    for dest, outcome in effective.settings.items():
        claimed = outcome.basis in {Basis.OBSERVED, Basis.READ} or outcome.written is not None
        if outcome.needs or outcome.basis is Basis.INFERRED or not claimed or dest in LATER:
            continue
        name = next((name for name in SPELLINGS.get(dest, (dest,)) if resolved.get(name) not in OPEN), None)
        if name:
            yield outcome, resolved[name]


@dataclass(frozen=True, slots=True)
class _Differences:
    """Diagnostics about one launch, all known in the same way."""

    seen: Seen
    how: str

    def refusal(self, complaint: str) -> Diagnostic:
        return Diagnostic(
            "engine-refuses",
            Level.ERROR,
            f"SGLang refuses this launch: {complaint}",
            effect="it does not start",
            evidence=(self.how,),
            remedy=f"heed what it says; that we found nothing is a bug: {REPORT}",
        )

    def setting(self, dest: str, theirs: str, ours: str) -> Diagnostic:
        """A difference about one setting, at its place if somebody wrote it."""
        written = (self.seen.launch.settings.get(name) for name in SPELLINGS.get(dest, (dest,)))
        setting = next(filter(None, written), Setting(dest, None, dest))
        told = self.difference(f"{setting.flag} {theirs}; we say {ours}")
        return replace(told, names=(setting.flag,), place=setting.place)

    def difference(self, message: str) -> Diagnostic:
        return Diagnostic(
            "engine-disagrees",
            Level.WARNING,
            message,
            effect="the engine is right, and what else we say of this launch may be wrong too",
            evidence=(self.how,),
            remedy=f"this is a bug: {REPORT}",
        )


def _json(value: Json) -> object:
    """`value` as a JSON text gives it back."""
    if isinstance(value, Mapping):
        return {key: _json(each) for key, each in value.items()}
    return [_json(each) for each in value] if isinstance(value, tuple | list) else value
