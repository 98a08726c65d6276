"""A patch folder becomes a patch, or every reason why not, in its place."""

import hashlib
from pathlib import Path

import pytest
import toys

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.texts import Files
from dsv4deploy.source.patch import Read, read_patch

OTHER = "a" * 64


def read(folder: Path) -> Read:
    return read_patch(Files(), str(folder))


def edited(folder: Path, old: str, new: str) -> Read:
    path = folder / "patch.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return read(folder)


def told(answer: Read) -> list[tuple[str, str]]:
    assert answer.patch is None
    return [(one.rule, one.message) for one in answer.diagnostics]


def test_what_it_changes_and_its_digest(tmp_path: Path) -> None:
    patch = read(toys.overlay(tmp_path)).patch
    assert patch
    assert patch.touches == ("sglang/attention.py",)
    again = edited(tmp_path / "patches/mma", "decode in another way", "decode, better said").patch
    assert again
    assert again.digest == patch.digest
    (tmp_path / "patches/mma/files/attention.py").write_text("x = 1\n")
    changed = read(tmp_path / "patches/mma").patch
    assert changed
    assert changed.digest != patch.digest


def test_a_diff_names_the_files_of_the_package(tmp_path: Path) -> None:
    patch = read(toys.diff(tmp_path)).patch
    assert patch
    assert patch.touches == ("sglang/attention.py",)


@pytest.mark.parametrize("path", ["../x.py", "/etc/x.py", "a/../../x.py", "./x.py", "~/x.py", "a\\\\b.py", "a//b.py"])
def test_a_path_that_could_leave_the_package_is_refused_where_it_stands(path: str, tmp_path: Path) -> None:
    answer = edited(toys.overlay(tmp_path), "path: attention.py", f'path: "{path}"')
    found = [one for one in answer.diagnostics if "plain path" in one.message]
    assert found
    assert found[0].place
    assert found[0].place.line == 6


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = toys.overlay(tmp_path)
    (folder / "files/attention.py").unlink()
    (folder / "files/attention.py").symlink_to("/etc/hostname")
    assert "leads out of" in told(read(folder))[0][1]


def test_a_missing_file_is_told_with_its_line(tmp_path: Path) -> None:
    folder = toys.overlay(tmp_path)
    (folder / "files/attention.py").unlink()
    answer = read(folder)
    assert "there is no file" in told(answer)[0][1]
    assert answer.diagnostics[0].place
    assert answer.diagnostics[0].place.line == 6


def test_a_digest_that_is_not_the_files_is_told(tmp_path: Path) -> None:
    answer = edited(toys.overlay(tmp_path), "path: attention.py", f"path: attention.py\n    sha256: {'a' * 64}")
    assert told(answer)[0][0] == "patch-digest"
    assert answer.diagnostics[0].place
    assert answer.diagnostics[0].place.line == 7


def test_a_line_of_a_diff_that_cannot_be_read_is_its_place(tmp_path: Path) -> None:
    answer = read(toys.diff(tmp_path, text=toys.DIFF.replace("+    return", "*    return")))
    place = answer.diagnostics[0].place
    assert place
    assert (place.file, place.line) == (str(tmp_path / "patches/diffed/change.diff"), 9)
    assert answer.written.sources[place.file][8] == '*    return "diffed"'


def test_a_diff_of_another_package_is_refused(tmp_path: Path) -> None:
    answer = read(toys.diff(tmp_path, text=toys.DIFF.replace("sglang", "vllm")))
    assert "is no file of the package sglang" in told(answer)[0][1]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("kind: overlay", "kind: diff", "kind diff needs `diffs`"),
        ("kind: overlay", "kind: overlay\nwheel: {file: a.whl, sha256: " + OTHER + "}", "has no `wheel`"),
        (', versions: "==0.5.23"', "", "needs `versions` or `files`"),
        ('"==0.5.23"', '"0.5.23"', "must be a range of versions"),
        ("kind: overlay", "kind: overlays", "did you mean overlay?"),
        ("summary: decode in another way", "", "the patch lacks summary"),
        ('"==0.5.23"', '"==0.5.23", arch: [120a]', "must be a compute capability"),
        ('"==0.5.23"', '"==0.5.23", arch: [120]', "expected a string, got the number 120"),
        ("- path: attention.py", "- path: attention.py\n  - path: attention.py", "changes sglang/attention.py twice"),
        ("kind: overlay", "kind: overlay\nfuzz: 9", "fuzz is 9, out of range"),
        ("name: TOY_MMA", "name: TOY-MMA", "toggle.name"),
        ("toggle:", "provides: [{because: x}]\ntoggle:", "needs either `setting` or `env`"),
        ("module: sglang.attention, ", "", "needs the `module`"),
        ("kind: overlay", "kind: overlay\ncolor: red", "unknown key color"),
        ("name: mma", "name: other", "calls itself other"),
        ("kind: overlay", "kind: tuning", "no JSON"),
    ],
)
def test_a_patch_that_says_too_little_or_too_much_is_told(old: str, new: str, reason: str, tmp_path: Path) -> None:
    answer = edited(toys.overlay(tmp_path), old, new)
    assert any(reason in message for _, message in told(answer)), answer.diagnostics
    for one in answer.diagnostics:
        assert one.place
        assert one.place.file == str(tmp_path / "patches/mma/patch.yaml")
        assert one.remedy
        assert "profile" not in f"{one.message} {one.remedy} {one.names}"


def test_a_wheel_must_hold_its_package_and_bear_a_wheels_name(tmp_path: Path) -> None:
    folder = tmp_path / "patches/built"
    folder.mkdir(parents=True)
    built = toys.wheel(folder)
    text = "name: built\nsummary: a\nkind: wheel\nfits: {{package: {}, versions: '>=0'}}\nwheel: {{file: {}, sha256: {}}}\n"
    (folder / "patch.yaml").write_text(text.format("other", built.name, OTHER))
    rules = told(read(folder))
    assert [rule for rule, _ in rules] == ["patch-digest", "patch-file"]
    assert "does not hold the package other" in rules[1][1]


def test_a_wheel_for_no_linux_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "patches/built"
    folder.mkdir(parents=True)
    built = toys.wheel(folder).rename(folder / "sglang-0.5.23-py3-none-win_amd64.whl")
    digest = hashlib.sha256(built.read_bytes()).hexdigest()
    (folder / "patch.yaml").write_text(
        f"name: built\nsummary: a\nkind: wheel\nfits: {{package: sglang, versions: '>=0'}}\n"
        f"wheel: {{file: {built.name}, sha256: '{digest}'}}\n"
    )
    assert told(read(folder)) == [("patch-file", f"{built.name}: it is for win_amd64, and nodes run Linux")]


def test_a_folder_that_is_none_is_trouble(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match=r"there is no file .*patch\.yaml"):
        read(tmp_path / "nowhere")


def test_the_example_is_sound_and_fits_its_package() -> None:
    example = Path(__file__).parents[3] / "examples/sparse-decode-patch"
    patch = read(example / "patches/mma-decode").patch
    assert patch
    stock = (example / "package/sparse_decode/decode.py").read_bytes()
    assert patch.about.fits.files == {"decode.py": hashlib.sha256(stock).hexdigest()}
    assert patch.about.toggle
    assert patch.about.toggle.name.encode() in patch.parts[0].data
    assert patch.about.toggle.name.encode() not in stock
