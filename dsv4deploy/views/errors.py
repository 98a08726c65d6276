"""The page of all error classes, and the text of one."""

from collections.abc import Iterable

from dsv4deploy.model.error_class import ErrorClass


def text(one: ErrorClass) -> str:
    """What `explain` prints."""
    command = f"With `{' '.join(one.words)}`:\n\n" if one.words else ""
    return (
        f"{one.slug}: {one.meaning}\n\n{command}Wrong:\n\n{_indented(one.wrong)}\n\nRight:\n\n{_indented(one.right)}\n"
    )


def page(classes: Iterable[ErrorClass]) -> str:
    """docs/reference/errors.md."""
    head = "# Errors in the writing of a profile\n\nThis page is generated: `make docs`.\n"
    return "\n".join([head, *(_section(one) for one in classes)])


def _section(one: ErrorClass) -> str:
    command = f"With `{' '.join(one.words)}`.\n" if one.words else ""
    return f"## {one.slug}\n\n{one.meaning}\n{command}\n```yaml\n# wrong\n{_shown(one.wrong)}\n\n# right\n{one.right}\n```\n"


def _indented(lines: str) -> str:
    return "\n".join(f"    {line}" for line in _shown(lines).split("\n"))


def _shown(lines: str) -> str:
    """Bytes that are no text and tabs, visible."""
    visible = lines.replace("\t", "<tab>")
    return "".join(f"<byte {ord(one) - 0xDC00:02X}>" if "\udc80" <= one <= "\udcff" else one for one in visible)
