"""Gathers everything that a project has written down about what was tried."""

import json
from collections.abc import Iterator
from pathlib import Path

from dsv4deploy.model.campaign import Applied, Campaign
from dsv4deploy.rim import trials
from dsv4deploy.rim.marks import read
from dsv4deploy.rim.project import FOLDER, mark_paths


def campaign(project: Path) -> Campaign:
    """The campaign of the project in a folder.

    Raises:
        Trouble: a record cannot be read.
    """
    paths = (path for rehearsal in (False, True) for path in mark_paths(project, rehearsal=rehearsal))
    return Campaign(
        project.absolute().name,
        trials.made(project),
        trials.conclusions(project),
        tuple(_applied(project)),
        tuple(sorted(map(read, paths), key=lambda mark: (mark.last.at, mark.id))),
        trials.drafts(project),
    )


def _applied(project: Path) -> Iterator[Applied]:
    for path in sorted((project / FOLDER / "applies").glob("*.jsonl")):
        lines = [_line(text) for text in path.read_text(encoding="utf-8", errors="replace").splitlines()]
        head = next((line for line in lines if "verb" in line and "at" in line), None)
        if head is None:
            continue
        verb, at = str(head["verb"]), str(head["at"])
        ended = next((line["outcomes"] for line in lines if "outcomes" in line), None)
        if ended is None:
            yield Applied(verb, at, path.name)
        for one in ended if isinstance(ended, list) else ():
            told, seconds = str(one.get("told") or ""), one.get("seconds")
            yield Applied(verb, at, path.name, str(one["node"]), str(one["name"]), str(one["end"]), told, seconds)


def _line(text: str) -> dict[str, object]:
    """One line of a record; a line that was left half written says nothing."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
