"""An answer that nobody reads, that has no room or nowhere to go never ends in a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = Path(sys.executable).with_name("dsv4deploy")
PROFILE = "examples/dsv4-flash-nvfp4-tp4/profile.yaml"
WORDS = ["--version", "--help", f"validate {PROFILE}", f"render {PROFILE} --stdout serve.sh"]


def bash(line: str, *, unbuffered: bool) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    if unbuffered:
        environment["PYTHONUNBUFFERED"] = "1"
    return subprocess.run(["bash", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("words", WORDS)
def test_a_reader_that_has_seen_enough_is_no_error(words: str, unbuffered: bool) -> None:
    # The reader is gone before the first line is written.
    done = bash(f"{TOOL} {words} | true; exit ${{PIPESTATUS[0]}}", unbuffered=unbuffered)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("words", WORDS)
def test_a_full_disk_is_told_in_a_line(words: str, unbuffered: bool) -> None:
    done = bash(f"{TOOL} {words} >/dev/full", unbuffered=unbuffered)
    assert (done.returncode, done.stderr) == (3, "error: the answer cannot be written: No space left on device\n")


@pytest.mark.parametrize("words", WORDS)
def test_without_any_output_the_code_still_answers(words: str) -> None:
    done = bash(f"{TOOL} {words} >&- 2>&-", unbuffered=False)
    assert done.returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_the_locale_cannot_write_is_spelled_out(encoding: str, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"profile-\xff-\xe2\x82\xac.yaml")
    odd.write_text("name: t\u00e9\u20ac\U0001f600\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for words in (["validate", odd], ["explain", "\u20ac"], ["validate", odd.with_name("none\u20ac")]):
        done = subprocess.run([TOOL, *words], env=environment, capture_output=True, check=False)
        assert done.returncode in (1, 2, 3)
        assert b"a bug in dsv4deploy" not in done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "rehearse pack nowhere/x --engine 0.5.23",
        "rehearse venv profile.yaml/x --engine 0.5.23",
        "report -o nowhere/x",
        "import launch.sh --engine 0.5.21 -o nowhere/x",
        "render profile.yaml -o profile.yaml/x",
    ],
)
def test_a_place_that_cannot_be_written_is_no_bug_of_ours(words: str, tmp_path: Path) -> None:
    (tmp_path / "launch.sh").write_text("python -m sglang.launch_server --model-path /m\n")
    (tmp_path / "profile.yaml").write_bytes((ROOT / "examples/rehearsal/profile.yaml").read_bytes())
    done = subprocess.run([TOOL, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "a bug in dsv4deploy" in done.stderr) == (3, False), done.stderr
