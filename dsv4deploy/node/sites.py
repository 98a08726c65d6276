"""The folders in which the interpreter of a virtual environment finds distributions, read as Python's `site` does."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Iterator, NamedTuple

from dsv4deploy.node.files import text

# Files whose code is known to name no folder: what setuptools, virtualenv and an editable install put there.
_HARMLESS = re.compile(r"distutils-precedence\.pth|_virtualenv\.pth|__editable__.*\.pth")
_CODE = ("import ", "import\t")


class Sites(NamedTuple):
    """The folders in the order in which they are searched, and the `.pth` files whose code was not run to find more."""

    folders: tuple[Path, ...]
    unread: tuple[Path, ...] = ()


def sites(python: str) -> Sites:
    """Where the interpreter at `python` finds distributions; none if it is in no virtual environment.

    Those of its base are among them where `pyvenv.cfg` lets them in, and what the path lines of `.pth` files name.
    """
    venv = Path(python).parent.parent
    if not (venv / "pyvenv.cfg").exists():
        return Sites(())
    # `lib64` is mostly a link to `lib`, and not where Python looks first.
    named = sorted(venv.glob("lib*/python3*/site-packages"), reverse=True)
    own = sorted({os.path.realpath(site): site for site in named}.values())
    folders: list[Path] = []
    unread: list[Path] = []
    for site in [*own, *_of_the_base(text(venv / "pyvenv.cfg"), own)]:
        folders += [site] if site not in folders else []
        for file in sorted(site.glob("*.pth")):
            lines = text(file).splitlines()
            folders += [one for one in dict.fromkeys(_named(site, lines)) if one not in folders]
            unread += [file] if any(map(_is_code, lines)) and not _HARMLESS.fullmatch(file.name) else []
    return Sites(tuple(folders), tuple(unread))


def _is_code(line: str) -> bool:
    return line.startswith(_CODE)


def _named(site: Path, lines: list[str]) -> Iterator[Path]:
    for line in lines:
        if line.strip() and not line.startswith("#") and not _is_code(line):
            place = Path(os.path.normpath(site / line.rstrip()))
            if place.is_dir():
                yield place


def _of_the_base(config: str, own: list[Path]) -> Iterator[Path]:
    """The folders of the installation that the environment was made from; Debian has names of its own for them."""
    said = dict(re.findall(r"^\s*([\w-]+)\s*=\s*(.*?)\s*$", config, re.MULTILINE))
    if said.get("include-system-site-packages", "").lower() != "true" or "home" not in said:
        return
    prefix = Path(said["home"]).parent
    for version in dict.fromkeys(site.parent.name for site in own):
        names = [
            prefix / "lib" / version / "site-packages",
            prefix / "local/lib" / version / "dist-packages",
            prefix / "lib/python3/dist-packages",
        ]
        yield from (place for place in names if place.is_dir())
