"""How a bundle differs from the one that stands somewhere: a unified diff of every file."""

import difflib
from collections.abc import Iterator, Mapping

from dsv4deploy.model.bundle import Bundle, readable


def render(before: Mapping[str, bytes], bundle: Bundle) -> str:
    """The diff from `before` (bytes by file name) to `bundle`, or one line that there is none."""
    after = {artifact.path: artifact.text for artifact in bundle.files}
    names = sorted({*before, *after})
    return "".join(line for name in names for line in _one(name, before.get(name), after.get(name))) or "No changes.\n"


def _one(name: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    old = "/dev/null" if before is None else f"a/{name}"
    new = "/dev/null" if after is None else f"b/{name}"
    if any(data is not None and readable(data) is None for data in (before, after)):
        if before != after:
            yield f"Binary files {old} and {new} differ\n"
        return
    for line in difflib.unified_diff(_lines(before), _lines(after), old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: bytes | None) -> list[str]:
    return (text or b"").decode(errors="replace").splitlines(keepends=True)
