"""Keeps the answers of healthy servers, by model and stack, so that later ones can be held against them."""

import json
from pathlib import Path

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.project import FOLDER

_FILE = FOLDER / "answers.json"


def kept(key: str, project: Path = Path()) -> dict[str, str]:
    """The answers that were kept under `key`; none if there are none."""
    return _all(project).get(key, {})


def keep(key: str, texts: dict[str, str], project: Path = Path()) -> None:
    """Keep the first answers of this model on this stack.

    Raises:
        Trouble: they cannot be written.
    """
    path = project / _FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n")
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({**_all(project), key: texts}, indent=2), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise Trouble(f"{path} cannot be written: {error.strerror}", "make the folder writable") from None


def _all(project: Path) -> dict[str, dict[str, str]]:
    try:
        found = json.loads((project / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
