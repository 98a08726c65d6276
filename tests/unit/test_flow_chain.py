"""A profile and the files that it extends, read from a real folder."""

from pathlib import Path

import pytest

from dsv4deploy.flow import chain, merged_profile
from dsv4deploy.model.diagnostic import Diagnostic, Refused
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.texts import Files


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def refused(path: Path | str) -> Diagnostic:
    with pytest.raises(Refused) as refusal:
        merged_profile(Files(), str(path))
    [found] = refusal.value.diagnostics
    assert found.place is None or found.place.file in refusal.value.sources
    return found


def test_bases_are_found_beside_the_file_that_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, site__base="a: 1\nb: 1\nc: 1\n", site__sub__mid="extends: ../base.yaml\nb: 2\nc: 2\n")
    write(tmp_path, p="extends: site/sub/mid.yaml\nc: 3\n")
    monkeypatch.chdir(tmp_path)
    merged = merged_profile(Files(), "p.yaml")
    assert merged.tree == {"a": 1, "b": 2, "c": 3}
    assert merged.files == ("p.yaml", "site/sub/mid.yaml", "site/base.yaml")
    assert str(merged.values["a",]) == "site/base.yaml:1:4"


def test_a_base_may_be_absolute_and_the_profile_named_from_anywhere(tmp_path: Path) -> None:
    write(tmp_path, base="a: 1\n", here__p=f"extends: {tmp_path}/base.yaml\n")
    assert merged_profile(Files(), str(tmp_path / "here/p.yaml"), (), ["b=2"]).tree == {"a": 1, "b": 2}


def test_a_missing_base_is_told_where_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, p="name: x\nextends: bsae.yaml\n")
    found = refused(tmp_path / "p.yaml")
    assert str(found.place) == f"{tmp_path}/p.yaml:2:10"
    assert found.message == f"there is no file {tmp_path}/bsae.yaml"


@pytest.mark.parametrize("named", ["[a.yaml, b.yaml]", "5", "''", "null", "{a: b}"])
def test_extends_names_one_file(tmp_path: Path, named: str) -> None:
    write(tmp_path, p=f"extends: {named}\n")
    found = refused(tmp_path / "p.yaml")
    assert (found.rule, found.message) == ("extends", "extends is the path of one file")


def test_a_folder_as_base_is_refused(tmp_path: Path) -> None:
    write(tmp_path, p="extends: .\n")
    assert refused(tmp_path / "p.yaml").message == f"{tmp_path} is a folder"


def test_bases_in_a_circle_are_refused_with_both_places(tmp_path: Path) -> None:
    write(tmp_path, p="extends: ./q.yaml\n", q="name: q\nextends: r.yaml\n", r="extends: sub/../q.yaml\n")
    found = refused(tmp_path / "p.yaml")
    assert str(found.place) == f"{tmp_path}/r.yaml:1:10"
    assert [str(related.place) for related in found.related] == [f"{tmp_path}/q.yaml:2:10"]


def test_a_profile_that_extends_itself_is_a_circle(tmp_path: Path) -> None:
    write(tmp_path, p="extends: p.yaml\n")
    assert "circle" in refused(tmp_path / "p.yaml").message


def test_a_circle_through_links_ends_too(tmp_path: Path) -> None:
    write(tmp_path, p="extends: sub/p.yaml\n")
    (tmp_path / "sub").symlink_to(".")
    assert "more than 16 files" in refused(tmp_path / "p.yaml").message


def test_a_broken_base_is_told_in_the_base(tmp_path: Path) -> None:
    write(tmp_path, p="extends: base.yaml\n", base="a: 010\n")
    assert str(refused(tmp_path / "p.yaml").place) == f"{tmp_path}/base.yaml:1:4"


def test_the_profile_itself_missing_is_trouble(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="there is no file"):
        chain(Files(), str(tmp_path / "p.yaml"))
