"""The page about memory fit knows every diagnostic and every key that programs read."""

import re
from pathlib import Path

import dsv4deploy
from dsv4deploy.model.memory import Account, Part, Sure
from dsv4deploy.views.memory import memory_tree

PACKAGE = Path(dsv4deploy.__file__).parent
PAGE = (PACKAGE.parent / "docs/reference/memory.md").read_text(encoding="utf-8")


def test_every_diagnostic_has_its_heading() -> None:
    said = (PACKAGE / "stages/memory/verdict.py").read_text(encoding="utf-8")
    slugs = set(re.findall(r'"((?:memory|weights)(?:-[a-z-]+)?)"', said))
    assert slugs
    assert slugs == set(re.findall(r"^### (\S+)$", PAGE, re.MULTILINE))


def test_every_key_part_and_degree_is_named() -> None:
    for word in (*(set(memory_tree(Account())) - {"schema"}), *Sure):
        assert f"`{word}`" in PAGE
    for part in Part:
        assert f"| {part} |" in PAGE
