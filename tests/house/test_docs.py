"""The reference pages say what the code says."""

import importlib.util
from pathlib import Path

import pytest

from dsv4deploy.cli.app import GROUPS, command_module, command_names

ROOT = Path(__file__).parents[2]


def test_no_generated_page_is_stale() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec
    assert spec.loader
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.stale() == [], "make docs"


@pytest.mark.parametrize("name", command_names())
def test_a_command_has_a_sentence_a_group_and_an_example(name: str) -> None:
    module = command_module(name)
    assert module.GROUP in GROUPS
    sentence, *rest = (module.__doc__ or "").splitlines()
    assert sentence.endswith((".", "`."))
    assert f"dsv4deploy {name}" in "\n".join(rest)


def test_every_example_names_the_schema() -> None:
    for example in ROOT.glob("examples/*/*.yaml"):
        if example.name.startswith(("profile", "cards", "rank")):
            assert example.read_text().startswith("# yaml-language-server: $schema=../profile.schema.json\n")
