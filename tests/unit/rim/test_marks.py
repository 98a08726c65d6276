"""Marks on disk: written whole, read back the same, united by version control."""

import subprocess
from pathlib import Path

import pytest

from dsv4deploy.model.mark import Condition, Core, Host, Mark, Sighting, Success
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.marks import keep, read, remember, text
from dsv4deploy.rim.project import MarkFiles


def mark(at: str = "2026-11-29T15:20:11Z", node: str = "gpu01", *, rehearsal: bool = False) -> Mark:
    sighting = Sighting(at=at, node=node, stage="capture", root=f'no: it\'s "bad" # {node}', host=Host(driver="580"))
    return Mark.model_validate(
        {
            "id": "oom-graph-flash-1a2b3c4d",
            "name": "flash",
            "class": "oom-graph",
            "core": Core(engine_version="0.5.23", model="m", rehearsal=rehearsal),
            "condition": Condition(settings={"tp_size": 4, "x": None, "on": True, "y": {"a": [1, 2]}}),
            "excerpt": ("line: one", "\ttwo \u2713"),
            "sightings": (sighting,),
        }
    )


def test_a_mark_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path, _ = keep(mark(), tmp_path)
    assert path == tmp_path / "marks/oom-graph-flash-1a2b3c4d.yaml"
    assert read(path) == mark()
    assert MarkFiles().beside(str(tmp_path / "profile.yaml"), rehearsal=False) == (mark(),)


def test_a_rehearsal_is_kept_apart(tmp_path: Path) -> None:
    path, _ = keep(mark(rehearsal=True), tmp_path)
    assert path.parent == tmp_path / ".dsv4deploy/rehearsal-marks"
    files = MarkFiles()
    assert files.beside(str(tmp_path / "p.yaml"), rehearsal=False) == ()
    assert len(files.beside(str(tmp_path / "p.yaml"), rehearsal=True)) == 1


def test_the_same_again_adds_a_sighting_to_the_same_file(tmp_path: Path) -> None:
    keep(mark(), tmp_path)
    path, whole = keep(mark("2026-11-30T09:00:00Z", "gpu02"), tmp_path)
    assert [one.node for one in whole.sightings] == ["gpu01", "gpu02"]
    assert read(path) == whole


def test_two_people_who_saw_the_same_merge_without_a_conflict(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    git("commit", "--allow-empty", "-m", "start")
    for node in ("gpu01", "gpu02"):
        git("checkout", "-b", node, "main")
        path, _ = keep(mark("2026-11-30T09:00:00Z", node), tmp_path)
        git("add", ".")
        git("commit", "-m", node)
    git("merge", "gpu01")
    assert {one.node for one in read(path).sightings} == {"gpu01", "gpu02"}


def test_a_broken_mark_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    (tmp_path / "marks/x.yaml").write_text("id: X\nsightings: []\n")
    with pytest.raises(Trouble, match=r"marks/x\.yaml is no mark"):
        MarkFiles().beside(str(tmp_path / "profile.yaml"), rehearsal=False)


def test_a_sighting_is_one_line() -> None:
    assert text(mark()).splitlines()[-1].startswith('- {"at": "2026-11-29T15:20:11Z"')


def test_successes_are_remembered_and_a_half_written_line_is_let_be(tmp_path: Path) -> None:
    success = Success(key="k", at="2026-11-29T15:20:11Z", node="gpu01", name="flash", seconds=12.5)
    remember(success, tmp_path)
    with (tmp_path / ".dsv4deploy/successes.jsonl").open("a") as file:
        file.write('{"key": "half')
    assert MarkFiles().successes(str(tmp_path / "profile.yaml")) == (success,)


@pytest.mark.parametrize(
    ("broken", "told", "remedy"),
    [
        ("<<<<<<< HEAD\nid: x\n=======\nid: y\n>>>>>>> theirs\n", ":2 is no mark: an unfinished merge", "both sides"),
        ("", " is no mark: it holds no keys", "version control"),
        ("- a list\n", " is no mark: it holds no keys", "version control"),
        ("{id: x", " is no mark: did not find", "version control"),
        ("schema: mark/9\nid: oom-graph-flash-1a2b3c4d\n", ": nothing is known of `schema`", "a newer one"),
        ("id: oom-graph-flash-1a2b3c4d\nname: flash\n", " is no mark: `core`: Field required", "version control"),
    ],
    ids=["merge conflict", "empty", "list", "broken", "newer", "cut"],
)
def test_a_file_that_is_no_mark_is_told_in_words(broken: str, told: str, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    whole = text(mark()) if "schema" in broken else ""
    path.write_text(broken + whole.partition("\n")[2])
    with pytest.raises(Trouble) as trouble:
        read(path)
    assert told in str(trouble.value).removeprefix(str(path))
    assert remedy in (trouble.value.remedy or "")
    assert "pydantic" not in str(trouble.value)
