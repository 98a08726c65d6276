"""Writes every page under `docs/reference/` that can be generated, and the schema beside the examples: `make docs`.

A test fails when one of them is stale; `--check` names the stale ones.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from dsv4deploy.cli.app import GROUPS, command_names
from dsv4deploy.cli.reference import command_page
from dsv4deploy.model.error_class import ERROR_CLASSES
from dsv4deploy.model.launch_error_class import LAUNCH_CLASSES, SCRIPT_CLASSES, TOLD_CLASSES
from dsv4deploy.source.rulebook import COMPILED, SHIPPED, compiled, families, rulebook
from dsv4deploy.views import errors
from dsv4deploy.views.profile_reference import page as profile_page
from dsv4deploy.views.profile_reference import patch_page
from dsv4deploy.views.rules import rules_page
from dsv4deploy.views.schema import profile_schema

ROOT = Path(__file__).parents[1]


def commands() -> str:
    """docs/reference/commands.md: every command by the step of the flow, as its own help tells it."""
    pages = [command_page(name) for name in command_names()]
    pages.sort(key=lambda page: (GROUPS.index(page.group), page.order, page.name))
    blocks = ["# Commands", "`dsv4deploy COMMAND --help` shows the same on the terminal."]
    group = ""
    for page in pages:
        if page.group != group:
            group = page.group
            blocks.append(f"## {group}")
        blocks.append(f"### {page.name}\n\n{page.text}")
    return "\n\n".join(blocks) + "\n"


def rules() -> str:
    """docs/reference/rules.md: the catalogue, by family."""
    return rules_page(rulebook(SHIPPED), families())


ERROR_ROOMS = {
    "In the writing of a profile": ("yaml", ERROR_CLASSES.values()),
    "In what an engine version takes": ("yaml", LAUNCH_CLASSES.values()),
    "In launch scripts": ("bash", SCRIPT_CLASSES.values()),
    "With files, facts and patches": ("yaml", TOLD_CLASSES.values()),
}
PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/profile.md": profile_page,
    "docs/reference/patch.md": patch_page,
    "docs/reference/errors.md": lambda: errors.page(ERROR_ROOMS),
    "docs/reference/commands.md": commands,
    "docs/reference/rules.md": rules,
    f"dsv4deploy/rules/{COMPILED}": compiled,
    "examples/profile.schema.json": lambda: json.dumps(profile_schema(), indent=2, ensure_ascii=False) + "\n",
}


def stale() -> list[str]:
    """The pages whose text is not what would be generated now."""
    return [name for name, made in PAGES.items() if _read(ROOT / name) != made()]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main() -> None:
    """Write the stale pages, or only name them."""
    names = stale()
    for name in names:
        print(name)
        if "--check" not in sys.argv:
            (ROOT / name).write_text(PAGES[name](), encoding="utf-8")
    sys.exit(bool(names) and "--check" in sys.argv)


if __name__ == "__main__":
    main()
