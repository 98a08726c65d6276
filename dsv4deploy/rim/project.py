"""Where the things of a project stand: in the folder of its profiles, and in one below it that is in no git."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4deploy.model.mark import Mark, Success

FOLDER = Path(".dsv4deploy")
MARKS, REHEARSED_MARKS = Path("marks"), FOLDER / "rehearsal-marks"


class MarkFiles:
    """The marks beside profiles; what was rehearsed is kept apart and never stands beside what is real."""

    def beside(self, profile: str, *, rehearsal: bool) -> tuple[Mark, ...]:
        """All marks of the project that the profile at `profile` belongs to.

        Raises:
            Trouble: one of them cannot be read.
        """
        found = mark_paths(Path(profile).parent, rehearsal=rehearsal)
        if not found:
            return ()
        from dsv4deploy.rim.marks import read  # noqa: PLC0415 (most projects have none, and a check starts fast)

        return tuple(map(read, found))

    def successes(self, profile: str) -> tuple[Success, ...]:
        """What was ready before; a line that was left half written is left out."""
        from dsv4deploy.rim.marks import successes  # noqa: PLC0415 (as above)

        return successes(Path(profile).parent)


def mark_paths(project: Path, *, rehearsal: bool) -> list[Path]:
    """The files of all marks of a project, by name."""
    return sorted((project / (REHEARSED_MARKS if rehearsal else MARKS)).glob("*.yaml"))
