"""Builds what commands work with from this machine: files, knowledge, the day, the terminal."""

import functools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4deploy.flow import Asked, Knowledge, Looked, looked_at
from dsv4deploy.model.diagnostic import Refused, Report
from dsv4deploy.model.document import Sources
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim.catalogue_file import Catalogues
from dsv4deploy.rim.local_folder import LocalModels
from dsv4deploy.rim.project import MarkFiles, mark_paths
from dsv4deploy.rim.texts import Files
from dsv4deploy.source.facts_document import FactsDocument, read_facts
from dsv4deploy.source.rulebook import catalogue, rulebook
from dsv4deploy.stages.check import Waiver
from dsv4deploy.stages.seen import Seen
from dsv4deploy.views import terminal

if TYPE_CHECKING:
    from dsv4deploy.model.bundle import Artifact, Bundle
    from dsv4deploy.model.mark import Mark


def knowledge(beside: Path | None = None) -> Knowledge:
    """Everything that ships with the house and the team's own rules beside a profile, as of today.

    Raises:
        Trouble: a rule of the team does not load.
    """
    own = beside.parent / "rules" if beside else None
    rules = (*catalogue(), *(rulebook(own) if own and own.is_dir() else ()))
    return Knowledge(Catalogues(), rules, datetime.now(UTC).date().isoformat(), LocalModels(), MarkFiles())


def asked(
    profile: Path, variants: Sequence[str], sets: Sequence[str], facts: Path | None, waive: Sequence[str]
) -> Asked:
    """What the options say.

    Raises:
        Trouble: a waiver without a reason, a facts file that cannot be read.
    """
    known = facts_document(facts) if facts else FactsDocument(Facts.model_construct())
    waivers = tuple(map(_waiver, waive))
    return Asked(
        str(profile), tuple(variants), tuple(sets), known.facts, waivers, known.checkpoint, told=known.diagnostics
    )


def with_version(asked: Asked, version: str) -> Asked:
    """The same question about a start of that release.

    Raises:
        Trouble: no such release is known.
    """
    from dsv4deploy.model.history import UnknownVersionError

    try:
        knowledge(Path(asked.path)).catalogues.history.at(version)
    except UnknownVersionError as unknown:
        raise Trouble(str(unknown), f"--engine {unknown.nearest}", Exit.USAGE) from None
    return replace(asked, facts=asked.facts.model_copy(update={"engine_version": version}))


def facts_document(path: Path) -> FactsDocument:
    """The facts document at `path`, with what it says of a model folder.

    Raises:
        Trouble: it cannot be read.
        Refused: it is no facts document, or a value has the wrong type.
    """
    from dsv4deploy.source.document import load

    document = load(Files().read(str(path)), str(path))
    read = read_facts(document.tree, document.values.get)
    if Report(read.diagnostics).blocks:
        raise Refused(read.diagnostics, document.sources)
    return read


def with_engine(seen: Seen, python: Path) -> Report:
    """The report on `seen`, and what the SGLang beside `python` says to it."""
    from dsv4deploy.rim.engine_python import ask
    from dsv4deploy.stages.engine_verdict import second_opinion

    told = second_opinion(seen, functools.partial(ask, python))
    return replace(seen.report, diagnostics=(*seen.report.diagnostics, *told))


def show(report: Report, sources: Sources, *, as_json: bool, fine: str) -> int:
    """Print `report` and return its exit code."""
    if as_json:
        from dsv4deploy.views import machine

        sys.stdout.write(machine.render(report))
    else:
        color = terminal.wants_color(os.environ, is_terminal=sys.stdout.isatty())
        sys.stdout.write(terminal.render(report, sources, color=color, fine=fine))
    return Exit.FOUND if report.blocks else Exit.FINE


def show_refusal(refused: Refused, *, as_json: bool) -> int:
    """Print what stopped the flow and return its exit code."""
    return show(Report(refused.diagnostics), refused.sources, as_json=as_json, fine="")


def _waiver(text: str) -> Waiver:
    rule, _, reason = text.partition("=")
    if not reason.strip():
        raise Trouble(f"--waive {text} gives no reason", f'--waive {rule}="why it is allowed here"', Exit.USAGE)
    return Waiver(rule, reason.strip())


def bundle(looked: Looked) -> "Bundle":
    """The finished files of a profile that was found fine."""
    from dsv4deploy import __version__
    from dsv4deploy.rim.shipped import Compiled, templates
    from dsv4deploy.stages.render import render

    return render(looked.profile, looked.launch, templates(), __version__, looked.patches, compiled=Compiled())


def artifact(of: "Bundle", name: str) -> "Artifact":
    """The file `name` of a bundle.

    Raises:
        Trouble: it has no such file.
    """
    found = next((one for one in of.files if one.path == name), None)
    if found is None:
        raise Trouble(
            f"the bundle has no file {name}", f"choose one of: {', '.join(one.path for one in of.files)}", Exit.USAGE
        )
    return found


def marks_of(project: Path) -> list["tuple[Path, Mark]"]:
    """Every mark of a project with its file, those of rehearsals included.

    Raises:
        Trouble: one of them cannot be read, or there is no such folder.
    """
    if not project.is_dir():
        raise Trouble(f"there is no folder {project}", "--project is the folder of the profile", Exit.USAGE)
    from dsv4deploy.rim.marks import read

    paths = (path for rehearsal in (False, True) for path in mark_paths(project, rehearsal=rehearsal))
    return [(path, read(path)) for path in paths]


def the_mark(project: Path, begins: str) -> "tuple[Path, Mark]":
    """The one mark whose id is `begins`, or begins so.

    Raises:
        Trouble: there is none, or there are several.
    """
    found = [(path, mark) for path, mark in marks_of(project) if mark.id.startswith(begins)]
    exact = [(path, mark) for path, mark in found if mark.id == begins]
    if len(exact or found) != 1:
        raise Trouble(
            f"{len(found) or 'no'} marks in {project.absolute()} begin with {begins}",
            "dsv4deploy marks list",
            Exit.USAGE,
        )
    return (exact or found)[0]


# Stands for the file, so that what belongs beside it is looked for where we are.
RELEASED = "profile of the release"


class _Released:
    """The profile of a release as its manifest holds it; other files are read from where we are."""

    def __init__(self, profile: Mapping[str, Any]) -> None:
        self._text = json.dumps(profile).encode()

    def read(self, path: str) -> bytes:
        """The bytes of `path`."""
        return self._text if path == RELEASED else Files().read(path)

    def inside(self, folder: str, name: str) -> bytes:
        """The bytes of the file `name` in `folder`."""
        return Files().inside(folder, name)


def released(profile: Mapping[str, Any], facts: Facts | None = None, retry: Sequence[str] = ()) -> Looked:
    """The profile that a manifest holds, looked at.

    Raises:
        Refused: it has no shape that could be judged any more.
        Trouble: a patch that it names is not here.
    """
    return looked_at(
        _Released(profile),
        knowledge(Path(RELEASED)),
        Asked(RELEASED, facts=facts or Facts.model_construct(), retry=tuple(retry)),
    )
