"""Finds what ships beside the code: templates and playbooks, in a wheel or in a checkout."""

import contextlib
import sys
from pathlib import Path
from pickle import UnpicklingError

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket


def shipped(folder: str) -> Path:
    """The folder `templates` or `playbooks`: inside an installed package, or beside it in a checkout."""
    # Not through `importlib.resources`, which is slow to load.
    package = Path(__file__).parents[1]
    inside = package / "_shipped" / folder
    return inside if inside.is_dir() else package.parent / folder


def templates() -> dict[str, str]:
    """Every template by its name below `templates/`, `serve/serve.sh.j2`."""
    return {
        f"{area.name}/{template.name}": template.read_text(encoding="utf-8")
        for area in shipped("templates").iterdir()
        if area.is_dir()
        for template in area.iterdir()
        if template.name.endswith(".j2")
    }


class Compiled(FileSystemBytecodeCache):
    """The byte code of the templates, beside them, where Python would keep it if they were its own.

    To compile the templates takes as long as all else that is rendered.
    """

    def __init__(self, folder: Path | None = None) -> None:
        beside = folder or shipped("templates") / "__pycache__"
        super().__init__(str(beside), f"%s.{sys.implementation.cache_tag}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """A file that is broken or may not be read counts as none."""
        try:
            super().load_bytecode(bucket)
        except (OSError, EOFError, ValueError, TypeError, UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it, unless Python is told to keep none or this user may not write here."""
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)
