"""Reads an experiment file, and looks at every arm of it; whatever is wrong is told in its place and all at once."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dsv4deploy.cli import launching
from dsv4deploy.cli.arms import Over, looked_with
from dsv4deploy.cli.launching import Goal
from dsv4deploy.flow import Knowledge, Looked, merged_profile
from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused
from dsv4deploy.model.document import Document, Merged, Overlay
from dsv4deploy.model.experiment import Experiment
from dsv4deploy.model.facts import Facts
from dsv4deploy.node.checks.every import CLASSES
from dsv4deploy.rim.texts import Files
from dsv4deploy.signatures import catalogue
from dsv4deploy.source.document import load
from dsv4deploy.source.validate import validate
from dsv4deploy.stages.experiment_mistakes import Known, mistakes
from dsv4deploy.stages.resolve import resolve

_NAME_LENGTH = 40
_OTHER_CLASSES = ("hung", "unrecognised")


@dataclass(frozen=True, slots=True)
class Written:
    """An experiment, the file that it stands in, and where everything in it stands."""

    experiment: Experiment
    document: Document
    merged: Merged

    @property
    def profile(self) -> str:
        """The base profile, as a path from here."""
        return os.path.normpath(Path(self.document.file).parent / self.experiment.profile)

    @property
    def project(self) -> Path:
        """Where trials, verdict and draft go: the folder of the profile for what lies in it, else that of the file."""
        folder, home = Path(self.document.file).parent, Path(self.profile).parent
        return home if folder.resolve().is_relative_to(home.resolve()) else folder


def read(path: Path, repeats: int = 0) -> Written:
    """The experiment in a file; `repeats` of the command line count more than its own.

    Raises:
        Refused: it has not the shape of one, or names things that there are not.
        Trouble: it cannot be read.
    """
    document = load(Files().read(str(path)), str(path))
    merged = resolve([document])
    found = validate(merged, Experiment, "experiment")
    written = Written(found.model_copy(update={"repeats": repeats}) if repeats else found, document, merged)
    if not Path(written.profile).is_file():
        missing = Diagnostic(
            "experiment",
            Level.ERROR,
            f"there is no profile {found.profile} beside this file",
            place=merged.place(("profile",)),
            remedy="write its path from here: profile: ../profile.yaml",
        )
        raise Refused((missing, *mistakes(found, merged, Known(_classes()))), merged.sources)
    return written


def arms_of(
    written: Written, knowledge: Knowledge, sets: Sequence[str] = (), facts: Facts | None = None
) -> dict[str, Looked]:
    """What each arm starts; `sets` are laid over all of them.

    Raises:
        Refused: with all that is wrong in the file, in the profile and in every arm.
    """
    experiment, merged = written.experiment, written.merged
    offered = merged_profile(Files(), written.profile).variants
    found = [*mistakes(experiment, merged, Known(_classes(), offered))]
    sources, looked = dict(merged.sources), dict[str, Looked]()
    for name, arm in experiment.arms.items():
        overlay = Overlay(written.document, ("arms", name, "changes"))
        variants = [one for one in arm.variants if one in offered]
        own = (*sets, *_own(experiment, name))
        try:
            looked[name] = looked_with(knowledge, written.profile, Over(variants, (overlay,), own, facts or Facts()))
        except Refused as refused:
            found += refused.diagnostics
            sources |= refused.sources
            continue
        if why := launching.unanswerable(looked[name], Goal(checks=tuple(experiment.checks))):
            place, remedy = merged.place(("checks",)), "write it in the profile, or leave the check out"
            found.append(Diagnostic("experiment", Level.ERROR, f"arm {name}: {why}", place=place, remedy=remedy))
        found += looked[name].misread  # what the engine does not even read is no variable of an arm
        sources |= looked[name].sources
    if found:
        raise Refused(dict.fromkeys(found), sources)
    return looked


def _own(experiment: Experiment, arm: str) -> Iterator[str]:
    """What an arm has of its own, so that it meets no other deployment: its name, and its port."""
    yield f"name={f'{experiment.name}-{arm}'[-_NAME_LENGTH:].strip('-')}"
    if experiment.port:
        yield f"server.port={experiment.port}"


def _classes() -> set[str]:
    """Every class that a failure can have."""
    return {one.class_ for one in catalogue() if one.class_} | {*CLASSES.values(), *_OTHER_CLASSES}
