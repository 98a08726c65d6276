"""Unified diffs are applied to the letter: the result is exact, or a reason, never a guess."""

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.node.diff import DiffError, apply, below, parse, touched

LINES = st.lists(st.sampled_from(["a", "b", "c", "", " d", "+e", "-f", "\\ g", "@@ h"]), max_size=12)
ENDS = st.booleans()
TEN = "".join(f"line {n}\n" for n in range(1, 11)).encode()


def diff_of(old: bytes, new: bytes) -> bytes:
    lines = difflib.unified_diff(
        old.decode().splitlines(keepends=True), new.decode().splitlines(keepends=True), "a/p/x.py", "b/p/x.py"
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ).encode()


def text(lines: list[str], *, ends: bool) -> bytes:
    return ("\n".join(lines) + ("\n" if lines and ends else "")).encode()


def changed(diff: bytes, old: bytes | None, fuzz: int = 0) -> bytes | None:
    return apply(parse(diff)[0], old, fuzz)


@given(LINES, LINES, ENDS, ENDS)
def test_a_diff_of_two_texts_makes_the_second_of_the_first(
    old: list[str], new: list[str], old_ends: bool, new_ends: bool
) -> None:
    before, after = text(old, ends=old_ends), text(new, ends=new_ends)
    if before != after and before and after:
        assert changed(diff_of(before, after), before) == after


def test_it_does_what_git_and_patch_do(tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git
    for name, old, new in [
        ("middle", TEN, TEN.replace(b"line 5\n", b"five\nand more\n")),
        ("both-ends", TEN, b"zero\n" + TEN[:-8] + b"ten"),
        ("all", TEN, b"one\n"),
    ]:
        folder = tmp_path / name
        (folder / "p").mkdir(parents=True)
        (folder / "p/x.py").write_bytes(old)
        subprocess.run([git, "apply", "--unsafe-paths", "-"], cwd=folder, input=diff_of(old, new), check=True)
        assert (folder / "p/x.py").read_bytes() == new == changed(diff_of(old, new), old)


def test_a_file_is_made_and_removed() -> None:
    made = b"--- /dev/null\n+++ b/p/x.py\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    assert changed(made, None) == b"one\ntwo\n"
    gone = b"--- a/p/x.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
    assert changed(gone, b"one\ntwo\n") is None


@pytest.mark.parametrize(
    "mail", ["", "From 1 Mon Sep 17 00:00:00 2001\n\nOnly in debug: a file comes\n---\n p/x.py | 0\n\n"]
)
@pytest.mark.parametrize(
    "after", ["", "-- \n2.39.5\n", "diff --git a/p/y b/p/y\n--- a/p/y\n+++ b/p/y\n@@ -1 +1 @@\n-a\n+b\n"]
)
def test_an_empty_file_is_made_and_removed_as_git_tells_it(mail: str, after: str) -> None:
    told = "diff --git a/p/x.py b/p/x.py\n{} file mode 100644\nindex 0000000..e69de29\n"
    made, gone = ((mail + told.format(word) + after).encode() for word in ("new", "deleted"))
    assert (parse(made)[0].old, parse(made)[0].new) == (None, "p/x.py")
    assert changed(made, None) == b""
    assert changed(gone, b"") is None
    assert [one.path for one in parse(made)] == ["p/x.py", *(["p/y"] if after.startswith("diff") else [])]
    with pytest.raises(DiffError, match="is there already"):
        changed(made, b"")
    with pytest.raises(DiffError, match="holds more"):
        changed(gone, b"text\n")


@pytest.mark.parametrize(
    ("diff", "old", "reason"),
    [
        (b"--- /dev/null\n+++ b/p/x.py\n@@ -0,0 +1 @@\n+one\n", b"", "there already"),
        (b"--- a/p/x.py\n+++ b/p/x.py\n@@ -1 +1 @@\n-one\n+two\n", None, "not there"),
        (b"--- a/p/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", b"one\nmore\n", "holds more"),
        (b"--- a/p/x.py\n+++ b/p/x.py\n@@ -1 +1 @@\n-one\n+two\n", b"two\n", "changed so already"),
        (b"--- a/p/x.py\n+++ b/p/x.py\n@@ -1 +1 @@\n-one\n+two\n", b"One\n", "line 1 is 'One\\n', expected 'one\\n'"),
        (b"--- a/p/x.py\n+++ b/p/x.py\n@@ -5 +5 @@\n-one\n+two\n", b"one\n", "the end of the file"),
    ],
)
def test_what_does_not_fit_is_told(diff: bytes, old: bytes | None, reason: str) -> None:
    with pytest.raises(DiffError) as told:
        changed(diff, old)
    assert reason in str(told.value)


@pytest.mark.parametrize(
    ("diff", "reason", "line"),
    [
        (b"no diff\n", "no unified diff", 0),
        (b"", "no unified diff", 0),
        (b"--- a/p/x\n+++ b/p/x\n", "without a hunk", 2),
        (b"@@ -1 +1 @@\n-a\n+b\n", "names of its file", 1),
        (b"--- a/p/x\n+++ b/p/x\n@@ -1,2 +1 @@\n-a\n", "ends inside", 3),
        (b"--- a/p/x\n+++ b/p/x\n@@ -1 +1 @@\n-a\n*b\n", "belongs to no hunk", 5),
        (b"diff --git a/p/x b/p/y\nrename from p/x\nrename to p/y\n", "only changes of text", 2),
        (b"Binary files a/p/x and b/p/x differ\n", "only changes of text", 1),
        (b"diff --git a/p/x b/p/x\nnew file mode 100644\nBinary files /dev/null and b/p/x differ\n", "of text", 3),
        (
            b"diff --git a/p/x b/p/x\nnew file mode 120000\n--- /dev/null\n+++ b/p/x\n@@ -0,0 +1 @@\n+../y\n",
            "of text",
            2,
        ),
        (b"diff --git a/p/x b/p/x\nindex 7898192..422c2b7 120000\n--- a/p/x\n+++ b/p/x\n", "of text", 2),
        (b"Only in b/p: x.py\n--- a/p/y\n+++ b/p/y\n@@ -1 +1 @@\n-a\n+b\n", "does not say what is in", 1),
        (b"diff -ruN a/p/x b/p/x\ndiff -ruN a/p/y b/p/y\n--- a/p/y\n+++ b/p/y\n", "does not say what is in", 1),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(diff: bytes, reason: str, line: int) -> None:
    with pytest.raises(DiffError) as told:
        parse(diff)
    assert reason in str(told.value)
    assert told.value.line == line


def test_a_hunk_moves_only_if_it_may_and_fits_in_one_place() -> None:
    diff = diff_of(TEN, TEN.replace(b"line 5\n", b"five\n"))
    moved = b"zero\n" + TEN
    with pytest.raises(DiffError, match=r"hunk 1 of p/x\.py does not fit"):
        changed(diff, moved)
    assert changed(diff, moved, fuzz=1) == b"zero\n" + TEN.replace(b"line 5\n", b"five\n")
    with pytest.raises(DiffError):
        changed(diff, moved + TEN, fuzz=1)


def test_fuzz_forgives_as_many_lines_as_it_says_and_keeps_them() -> None:
    diff = diff_of(TEN, TEN.replace(b"line 5\n", b"five\n"))
    old = TEN.replace(b"line 2\n", b"two\n")
    with pytest.raises(DiffError):
        changed(diff, old)
    assert changed(diff, old, fuzz=1) == old.replace(b"line 5\n", b"five\n")
    with pytest.raises(DiffError):
        changed(diff, old.replace(b"line 3\n", b"three\n"), fuzz=1)


def test_names_count_from_the_package_on() -> None:
    assert below("python/sglang/srt/a.py", "sglang") == "srt/a.py"
    for path in ("python/other/a.py", "sglang", "/sglang/a.py", "sglang/../a.py"):
        with pytest.raises(DiffError):
            below(path, "sglang")
    rename = b"--- a/sglang/x.py\n+++ b/sglang/y.py\n@@ -1 +1 @@\n-a\n+b\n"
    with pytest.raises(DiffError, match="renames"):
        list(touched(parse(rename), "sglang"))
