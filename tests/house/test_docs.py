"""The reference pages say what the code says, and the pages written by hand name only what there is."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsv4deploy.cli.app import GROUPS, command_module, command_names, run

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md")])
BY_HAND = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]
# A command line in a page: indented, or between backquotes.
TYPED = re.compile(r"^ {4}(?:\$ )?dsv4deploy (?P<line>.+)|`dsv4deploy (?P<inline>[^`]+)`", re.MULTILINE)
# What the program is said to do or to be in our texts, and is no command.
PROSE = {"asks", "did", "for", "installed", "is", "needs", "rehearsal", "that", "tool", "with", "writes"}


def typed() -> Iterator[str]:
    """Every command line of the pages written by hand, without comment and redirection."""
    for page in BY_HAND:
        for found in TYPED.finditer(page.read_text(encoding="utf-8")):
            yield re.split(r"\s+#|\s+>|\s+\(", found["line"] or found["inline"])[0]


@pytest.mark.parametrize("line", sorted(set(typed())))
def test_a_command_line_of_a_page_can_be_typed(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    # Options are read before help is shown: one that does not exist is refused.
    assert run([*shlex.split(line), "--help"]) == 0, capsys.readouterr().err


def test_only_commands_that_exist_are_named_anywhere() -> None:
    kinds = ("*.py", "*.yaml", "*.yml", "*.j2", "*.md", "*.sh")
    folders = ("dsv4deploy", "templates", "playbooks", "docs", "examples")
    texts = [path for folder in folders for kind in kinds for path in (ROOT / folder).rglob(kind)]
    said = {word for path in texts for word in re.findall(r"\bdsv4deploy ([a-z][a-z-]+)", path.read_text("utf-8"))}
    assert said - set(command_names()) <= PROSE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_links_to_is_there(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    inside = [target.partition("#")[0] for target in targets if not re.match(r"https?:|#", target)]
    assert [target for target in inside if not (page.parent / target).exists()] == []


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = [path.name.partition("-")[0] for path in (ROOT / "docs/decisions").iterdir()]
    assert [number for number in set(numbers) if numbers.count(number) > 1] == []
    assert [number for number in numbers if not re.fullmatch(r"\d{4}", number)] == []


def test_the_first_screen_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("    $ cat profile.yaml\n")[2]
    profile = "".join(line.removeprefix("    ") for line in shown.partition("    $")[0].splitlines(keepends=True))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profile.yaml").write_text(profile, encoding="utf-8")
    assert run(["validate", "profile.yaml"]) == 1
    said = re.findall(
        r"^    (.+)$", shown.partition("validate profile.yaml\n")[2].partition("    ...")[0], re.MULTILINE
    )
    assert "\n".join(said) in capsys.readouterr().out
    (tmp_path / "profile.yaml").write_text("\n".join(profile.rstrip().splitlines()[:-1]), encoding="utf-8")
    assert run(["render", "profile.yaml"]) == 0
    wrote = re.findall(r"^    (.+)$", shown.partition("render profile.yaml\n")[2].partition("    $")[0], re.MULTILINE)
    assert "\n".join(wrote) in capsys.readouterr().out


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
