"""The page of all error classes, and the text of one."""

from collections.abc import Iterable, Mapping

from dsv4deploy.model.error_class import ErrorClass


def text(one: ErrorClass) -> str:
    """What `explain` prints."""
    command = f"With `{' '.join(one.words)}`:\n\n" if one.words else ""
    shown = f"{command}Wrong:\n\n{_indented(one.wrong)}\n\nRight:\n\n{_indented(one.right)}\n" if one.wrong else ""
    return f"{one.slug}: {one.meaning}\n" + (f"\n{shown}" if shown else "")


def page(rooms: Mapping[str, tuple[str, Iterable[ErrorClass]]]) -> str:
    """docs/reference/errors.md: a table of all classes, then each with its example.

    `rooms` are the headings, each with the language of its examples and its classes.
    """
    lists = [(title, language, list(classes)) for title, (language, classes) in rooms.items()]
    rows = [f"| `{one.slug}` | {one.meaning.replace('|', chr(92) + '|')} |" for *_, classes in lists for one in classes]
    blocks = ["# Error classes\n\nThis page is generated: `make docs`.\n", "| class | meaning |\n|---|---|", *rows, ""]
    for title, language, classes in lists:
        shown = [one for one in classes if one.wrong]
        blocks += [f"## {title}\n", *(_section(one, language) for one in shown)] if shown else []
    return "\n".join(blocks)


def _section(one: ErrorClass, language: str) -> str:
    command = f"With `{' '.join(one.words)}`.\n" if one.words else ""
    return (
        f"### {one.slug}\n\n{one.meaning}\n{command}\n"
        f"```{language}\n# wrong\n{_shown(one.wrong)}\n\n# right\n{one.right}\n```\n"
    )


def _indented(lines: str) -> str:
    return "\n".join(f"    {line}" for line in _shown(lines).split("\n"))


def _shown(lines: str) -> str:
    """Bytes that are no text and tabs, visible."""
    visible = lines.replace("\t", "<tab>")
    return "".join(f"<byte {ord(one) - 0xDC00:02X}>" if "\udc80" <= one <= "\udcff" else one for one in visible)
