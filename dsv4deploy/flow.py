"""Strings the stages together for the commands, given the ports to the outside world."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from dsv4deploy.model.checkpoint import Checkpoint
from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused, Related, Report
from dsv4deploy.model.document import Document, Leaf, Merged, Overlay, Tree
from dsv4deploy.model.effective import Effective
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.history import History, UnknownVersionError
from dsv4deploy.model.memory import Account, Measured, Workload
from dsv4deploy.model.place import Place
from dsv4deploy.model.ports import Catalogues, Folders, Marks, Models, Texts
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.rule import Rule
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.document import load
from dsv4deploy.source.validate import fitting, validate
from dsv4deploy.stages.check import Waiver, check
from dsv4deploy.stages.effective import effective
from dsv4deploy.stages.flag_check import flag_diagnostics, setting_diagnostics
from dsv4deploy.stages.fork_words import with_fork_words
from dsv4deploy.stages.launch import Lowered, lower
from dsv4deploy.stages.memory import account_of
from dsv4deploy.stages.patched import Patched
from dsv4deploy.stages.profile_facts import facts_of, laid_over
from dsv4deploy.stages.resolve import EXTENDS, resolve
from dsv4deploy.stages.seen import Seen
from dsv4deploy.stages.variable_check import TOGGLE_NOT_READ, UNKNOWN_VARIABLE, variable_diagnostics

if TYPE_CHECKING:
    from dsv4deploy.model.patch import Patch
    from dsv4deploy.stages.marks import Candidate

# Readers of scripts, patches and marks are loaded where there are any: a check of a plain profile starts fast.

_LONGEST_CHAIN = 16


def merged_profile(
    texts: Texts,
    path: str,
    variants: Sequence[str] = (),
    sets: Sequence[str] = (),
    overlays: Sequence[Overlay] = (),
) -> Merged:
    """The profile at `path` over the chain of its bases, with variants, overlays and `--set` texts applied.

    Raises:
        Refused: with everything that is wrong in the first file that is wrong.
        Trouble: the profile itself cannot be read.
    """
    return resolve(chain(texts, path), variants, sets, overlays)


def chain(texts: Texts, path: str) -> tuple[Document, ...]:
    """The documents from the outermost base to the profile at `path`.

    Raises:
        Refused: a text that cannot be loaded, a base that cannot be read, bases that go round in a circle.
        Trouble: the profile itself cannot be read.
    """
    documents = [load(texts.read(path), path)]
    while EXTENDS in _mapping(documents[-1]):
        documents.append(_base(texts, documents))
    return tuple(reversed(documents))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command line says about one profile: the file, what is laid over it, and what is known beside it.

    Attributes:
        checkpoint: shape and weights of the model, where the facts carry them.
        measured: what a first start on that node measured.
        told: what there was to say about the facts.
        retry: ids of marks that are tried again on purpose.
        overlays: changes that stand in other files, laid over the variants and below `sets`.
    """

    path: str
    variants: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    facts: Facts = field(default_factory=Facts.model_construct)
    waivers: tuple[Waiver, ...] = ()
    checkpoint: Checkpoint | None = None
    measured: Measured | None = None
    told: tuple[Diagnostic, ...] = ()
    retry: tuple[str, ...] = ()
    overlays: tuple[Overlay, ...] = ()


class Knowledge(NamedTuple):
    """What the house knows, the day on which it is asked (`2026-12-31`), model folders it may look into, and marks."""

    catalogues: Catalogues
    rules: Sequence[Rule]
    today: str
    models: Models | None = None
    marks: Marks | None = None


@dataclass(frozen=True, slots=True)
class Looked(Seen):
    """One profile, looked at from all sides.

    Attributes:
        misread: the arguments that the parser of its engine refuses, so that no start of it can be made.
    """

    profile: Profile
    patches: "tuple[Patch, ...]" = ()
    misread: tuple[Diagnostic, ...] = ()

    @property
    def candidate(self) -> "Candidate":
        """What marks are held against."""
        from dsv4deploy.stages.marks import Candidate  # noqa: PLC0415 (loaded where it is needed, see above)

        engine, health = self.profile.engine, self.profile.health
        promised = {"longest_prompt": health.longest_prompt, "concurrency": health.concurrency}
        return Candidate(
            self.launch,
            self.effective,
            self.facts,
            self.catalogue,
            self.patches,
            engine.rehearsal,
            engine.venv,
            {kind: amount for kind, amount in promised.items() if amount},
        )


def looked_at(texts: Folders, knowledge: Knowledge, asked: Asked) -> Looked:
    """Read, resolve, lower and check the profile that `asked` names.

    Raises:
        Refused: it has no shape that could be judged.
        Trouble: it cannot be read.
    """
    merged = merged_profile(texts, asked.path, asked.variants, asked.sets, asked.overlays)
    try:
        profile = validate(merged, Profile)
    except Refused as refused:
        shown = {one.place for one in refused.diagnostics}
        also = [one for one in _also_wrong(knowledge.catalogues, merged, asked.path) if one.place not in shown]
        raise Refused((*refused.diagnostics, *also), merged.sources) from None
    catalogue = _catalogue(knowledge.catalogues, profile, merged, asked.path)
    lowered = lower(profile, merged, catalogue, knowledge.catalogues.history)
    facts, checkpoint = _known(knowledge.models, profile.model.path, facts_of(profile), asked)
    laid = _patched(texts, asked.path, profile, merged, facts)
    provided = (*lowered.launch.provided, *laid.provided)
    lowered = lowered._replace(launch=replace(lowered.launch, provided=provided, patches=laid.laid))
    waivers = (*_waivers(profile, merged), *asked.waivers)
    workload = Workload(profile.health.longest_prompt, profile.health.concurrency)
    start = _Start(lowered, catalogue, facts, checkpoint, workload, waivers, asked, merged.leaves())
    settled, report, memory = _judged(start, knowledge)
    # The reader of a toggle may stand in the patch that could not be read.
    told = [one for one in report.diagnostics if not (laid.unread and one.rule == TOGGLE_NOT_READ)]
    report = replace(
        report,
        diagnostics=(*laid.diagnostics, *told),
        unknown=tuple(dict.fromkeys((*laid.unknown, *report.unknown))),
    )
    sources = {**merged.sources, **laid.sources}
    unread = flag_diagnostics(lowered.errors, catalogue, knowledge.catalogues.history, fork=start.fork)
    misread = tuple(one for one in unread if one.level is Level.ERROR)
    looked = Looked(
        lowered.launch,
        lowered.words,
        catalogue,
        sources,
        facts,
        settled,
        report,
        memory,
        profile,
        laid.patches,
        misread,
    )
    return _remembered(looked, knowledge.marks, asked)


def looked_at_script(
    texts: Texts,
    knowledge: Knowledge,
    asked: Asked,
    number: int | None = None,
    known: Mapping[str, str] | None = None,
) -> Seen:
    """Read and check the start in the launch file that `asked` names; the facts say which engine version it is.

    `known` are variables that the caller of the file sets.

    Raises:
        Trouble: it cannot be read, starts no server, or several and `number` does not choose one.
    """
    from dsv4deploy.source.launch_file import imported  # noqa: PLC0415 (loaded where it is needed, see above)
    from dsv4deploy.stages.imported_launch import chosen, fitting, launch_of, remarks  # noqa: PLC0415 (likewise)

    read = imported(texts, asked.path, known)
    history, version = knowledge.catalogues.history, asked.facts.engine_version
    command = chosen(read, number)
    version = version if version in history.versions else None
    catalogue = history.at(version or fitting(command, history))
    lowered = launch_of(command, version, history, catalogue)
    path = lowered.launch.settings.get("model_path")
    facts, checkpoint = _known(knowledge.models, str(path.value) if path else "", Facts.model_construct(), asked)
    start = _Start(lowered, catalogue, facts, checkpoint, Workload(), asked.waivers, asked, {})
    settled, report, memory = _judged(start, knowledge)
    report = replace(report, diagnostics=(*remarks(read, command), *report.diagnostics))
    return Seen(lowered.launch, lowered.words, catalogue, read.sources, facts, settled, report, memory)


class _Start(NamedTuple):
    """One start of the engine, and all that is known for judging it."""

    lowered: Lowered
    catalogue: Catalogue
    facts: Facts
    checkpoint: Checkpoint | None
    workload: Workload
    waivers: Sequence[Waiver]
    asked: Asked
    written: Mapping[str, Leaf]

    @property
    def fork(self) -> bool:
        """Whether the engine is a build whose own catalogue is not at hand; a patch of ours adds no flag."""
        launch = self.lowered.launch
        of_a_fork = launch.build or (self.facts.engine_patched and not launch.patches)
        return bool(of_a_fork) and "engine.catalogue" not in self.written


def _patched(texts: Folders, path: str, profile: Profile, merged: Merged, facts: Facts) -> Patched:
    if not profile.kernels.patches:
        return Patched()
    from dsv4deploy.stages.patching import patched  # noqa: PLC0415 (loaded where it is needed, see above)

    return patched(texts, path, profile, merged, facts)


def _remembered(looked: Looked, marks: Marks | None, asked: Asked) -> Looked:
    """The same with what the marks beside the profile say."""
    if marks is None:
        return looked
    beside = marks.beside(asked.path, rehearsal=looked.profile.engine.rehearsal)
    if not beside:
        return looked
    from dsv4deploy.stages.marks import marked  # noqa: PLC0415 (loaded where it is needed, see above)

    told = marked(looked.candidate, looked.report, beside, asked.retry)
    report = replace(looked.report, diagnostics=(*looked.report.diagnostics, *told))
    return replace(looked, report=report)


def _known(models: Models | None, path: str, stated: Facts, asked: Asked) -> tuple[Facts, Checkpoint | None]:
    """Facts and checkpoint: what is asked with wins over what a folder tells, and that over what is stated."""
    reading = models.at(path) if models and path else None
    if reading is None:
        return laid_over(stated, asked.facts), asked.checkpoint
    read = laid_over(stated, Facts.model_construct(model=reading.facts))
    return laid_over(read, asked.facts), asked.checkpoint or reading.checkpoint


def _judged(start: _Start, knowledge: Knowledge) -> tuple[Effective, Report, Account]:
    """What takes effect, everything there is to say about it, and the memory it takes."""
    launch, catalogue, facts = start.lowered.launch, start.catalogue, start.facts
    history = knowledge.catalogues.history
    judged = with_fork_words(launch, start.lowered.errors)
    settled = effective(judged, catalogue, facts)
    memory = account_of(
        judged, settled, facts, start.checkpoint, workload=start.workload, measured=start.asked.measured
    )
    report = check(
        judged,
        settled,
        facts,
        knowledge.rules,
        catalogue=catalogue,
        profile=start.written,
        waivers=start.waivers,
        today=knowledge.today,
        beside=[told for told in memory.diagnostics if told.level is not Level.NOTE],
    )
    # Of a variable that nobody reads either a rule speaks or we do, and a rule knows more than that nobody does.
    ruled = {one.place for one in report.diagnostics if one.place}
    words = [
        one
        for one in _of_words(start.lowered, catalogue, history, fork=start.fork)
        if one.rule != UNKNOWN_VARIABLE or one.place not in ruled
    ]
    unread = {one.place for one in words if one.rule == TOGGLE_NOT_READ and one.place}
    told = (*start.asked.told, *words, *(one for one in report.diagnostics if one.place not in unread))
    return settled, replace(report, diagnostics=told), memory


def _of_words(lowered: Lowered, catalogue: Catalogue, history: History, *, fork: bool) -> tuple[Diagnostic, ...]:
    """What is wrong with the flags and variables by themselves, whatever they do together.

    `fork`: the engine is a build whose own catalogue is not at hand.
    """
    launch = lowered.launch
    return (
        *lowered.diagnostics,
        *flag_diagnostics(lowered.errors, catalogue, history, fork=fork),
        *setting_diagnostics(launch, catalogue),
        *variable_diagnostics(launch.environment.values(), catalogue, history, launch.provided, stock=not launch.build),
    )


def _also_wrong(catalogues: Catalogues, merged: Merged, path: str) -> tuple[Diagnostic, ...]:
    """What else is wrong in a profile that has not its shape everywhere, so that all is told at once."""
    profile = fitting(merged, Profile)
    if profile is None:
        return ()
    try:
        catalogue = _catalogue(catalogues, profile, merged, path)
    except Refused as refused:
        return refused.diagnostics
    except Trouble:
        return ()  # told when the rest is right
    lowered = lower(profile, merged, catalogue, catalogues.history)
    return _of_words(lowered, catalogue, catalogues.history, fork=bool(profile.engine.build))


def _catalogue(catalogues: Catalogues, profile: Profile, merged: Merged, path: str) -> Catalogue:
    engine = profile.engine
    file = posixpath.join(posixpath.dirname(path), engine.catalogue) if engine.catalogue else None
    try:
        return catalogues.of(engine.version, file)
    except UnknownVersionError as unknown:
        found = Diagnostic(
            "unknown-version",
            Level.ERROR,
            f"nothing is known of SGLang {engine.version}",
            ("profile:engine.version",),
            merged.place(("engine", "version")),
            f"the nearest known release is {unknown.nearest}",
            effect="no flag and no rule could be judged",
            remedy="use a known release, or name a catalogue as engine.catalogue: dsv4deploy flags extract VENV -o FILE",
        )
        raise Refused((found,), merged.sources) from None


def _waivers(profile: Profile, merged: Merged) -> tuple[Waiver, ...]:
    return tuple(
        Waiver(waiver.rule, waiver.reason, waiver.until, merged.place(("waivers", index)))
        for index, waiver in enumerate(profile.waivers)
    )


def _base(texts: Texts, documents: Sequence[Document]) -> Document:
    child = documents[-1]
    named, at = _mapping(child)[EXTENDS], child.values[EXTENDS,]
    if not isinstance(named, str) or not named:
        raise _refused(documents, at, "extends is the path of one file", "extends: base.yaml")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(child.file), named))
    for earlier in documents:
        if posixpath.normpath(earlier.file) == path:
            begin = Related(earlier.values.get((EXTENDS,), at), "which extends from here")
            related = (begin,) if begin.place != at else ()
            raise _refused(documents, at, f"{named} extends itself in a circle", "remove one extends", related)
    if len(documents) >= _LONGEST_CHAIN:
        raise _refused(documents, at, f"more than {_LONGEST_CHAIN} files that extend one another", "")
    try:
        data = texts.read(path)
    except Trouble as trouble:
        raise _refused(documents, at, trouble.message, trouble.remedy) from None
    return load(data, path)


def _mapping(document: Document) -> dict[str, Tree]:
    return document.tree if isinstance(document.tree, dict) else {}


def _refused(
    documents: Sequence[Document], at: Place, message: str, remedy: str, related: tuple[Related, ...] = ()
) -> Refused:
    sources = {document.file: document.lines for document in documents}
    found = Diagnostic(
        "extends", Level.ERROR, message, names=("profile:extends",), place=at, remedy=remedy, related=related
    )
    return Refused((found,), sources)
