"""Every error class is what its page says: the wrong lines have it, the right lines do not, and no class is untold."""

import re
from pathlib import Path

import pytest
from house import Written, knowledge, looked

import dsv4deploy
from dsv4deploy.flow import Asked, looked_at_script, merged_profile
from dsv4deploy.model.diagnostic import Diagnostic, Refused
from dsv4deploy.model.error_class import ERROR_CLASSES, ErrorClass
from dsv4deploy.model.launch_error_class import BASE, LAUNCH_CLASSES, SCRIPT_CLASSES
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.validate import validate
from dsv4deploy.views.errors import text

PACKAGE = Path(dsv4deploy.__file__).parent
ALL = list(ERROR_CLASSES.values())


class Texts:
    """Two files, a profile and its base, that are on no disk."""

    def __init__(self, profile: str) -> None:
        self.files = {"profile.yaml": profile.encode("utf-8", "surrogateescape"), "base.yaml": b"name: base\n"}

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise Trouble(f"there is no file {path}", "name one that is there")
        return self.files[path]


def refused(profile: str, words: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    typed = {
        "--set": [],
        "--variant": [],
        **{option: [value] for option, value in zip(*[iter(words)] * 2, strict=True)},
    }
    try:
        validate(merged_profile(Texts(profile), "profile.yaml", typed["--variant"], typed["--set"]), Profile)
    except Refused as trouble:
        return trouble.diagnostics
    return ()


def found(profile: str, words: tuple[str, ...]) -> set[str]:
    return {one.rule for one in refused(profile, words)}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.slug)
def test_a_mistake_says_why_it_matters_how_we_know_and_what_to_do(one: ErrorClass) -> None:
    for told in refused(one.wrong, one.words):
        assert told.effect == ERROR_CLASSES[told.rule].effect
        assert told.evidence[0].startswith("enforced: ")
        assert told.remedy


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.slug)
def test_the_wrong_lines_have_it_and_the_right_ones_do_not(one: ErrorClass) -> None:
    assert one.slug in found(one.wrong, one.words)
    assert one.slug not in found(one.right, one.words)


def test_no_slug_of_the_reading_rooms_is_missing_here() -> None:
    files = [*PACKAGE.glob("source/*.py"), PACKAGE / "stages/resolve.py"]
    said = "\n".join(file.read_text(encoding="utf-8") for file in files)
    slugs = set(
        re.findall(r'"((?:yaml|too|wrong|unknown|missing|invalid|duplicate|out-of|quote|set|variant)-[a-z-]+)"', said)
    )
    assert slugs - set(ERROR_CLASSES) <= {"unknown-fact"}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.slug)
def test_the_text_of_a_class_shows_both(one: ErrorClass) -> None:
    assert text(one).startswith(f"{one.slug}: {one.meaning}")
    assert 0 < text(one).index("Wrong:") < text(one).index("Right:")
    assert text(one).replace("\n", "").isprintable()


@pytest.mark.parametrize("one", LAUNCH_CLASSES.values(), ids=lambda one: one.slug)
def test_an_engine_version_finds_the_wrong_lines_wrong_and_the_right_ones_right(one: ErrorClass) -> None:
    assert one.slug in told(one.wrong)
    assert one.slug not in told(one.right)


@pytest.mark.parametrize("one", SCRIPT_CLASSES.values(), ids=lambda one: one.slug)
def test_a_script_is_told_of_what_is_wrong_with_it(one: ErrorClass) -> None:
    assert one.slug in told_of_script(one.wrong)
    assert one.slug not in told_of_script(one.right)


def told(lines: str) -> set[str]:
    replaced = {line.split(":")[0] for line in lines.splitlines()}
    base = [line for line in BASE.splitlines() if line.split(":")[0] not in replaced]
    try:
        return {one.rule for one in looked("\n".join([*base, lines])).report.diagnostics}
    except Refused as refused:
        return {one.rule for one in refused.diagnostics}


def told_of_script(script: str) -> set[str]:
    seen = looked_at_script(Written({"launch.sh": f"{script}\n"}), knowledge(), Asked("launch.sh"))
    return {one.rule for one in seen.report.diagnostics}
