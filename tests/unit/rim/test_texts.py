"""A file is read, or one line says why not."""

import os
from pathlib import Path

import pytest

from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim.texts import LARGEST, Files


def trouble(path: Path | str) -> str:
    with pytest.raises(Trouble) as caught:
        Files().read(str(path))
    assert caught.value.code is Exit.UNREADABLE
    assert "\n" not in caught.value.message
    return caught.value.message


def test_the_bytes_come_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"\xff\r\n\0")
    assert Files().read(str(tmp_path / "p.yaml")) == b"\xff\r\n\0"


def test_a_pipe_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a: 1\n")
    os.close(writing)
    assert Files().read(f"/dev/fd/{reading}") == b"a: 1\n"
    os.close(reading)


def test_what_is_no_readable_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert trouble(tmp_path / "none.yaml").startswith("there is no file ")
    assert trouble(tmp_path).endswith(" is a folder")
    assert "device" in trouble("/dev/zero")
    assert "cannot be read" in trouble(tmp_path / "loop")
    assert "cannot be read" in trouble(tmp_path / "p.yaml" / "\0")
    assert "cannot be read" in trouble(tmp_path / ("x" * 300))


def test_a_file_below_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"")
    assert "cannot be read" in trouble(tmp_path / "p.yaml" / "base.yaml")


def test_an_unreadable_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"")
    (tmp_path / "p.yaml").chmod(0)
    if os.access(tmp_path / "p.yaml", os.R_OK):
        pytest.skip("root may read everything")
    assert "Permission denied" in trouble(tmp_path / "p.yaml")


def test_fifty_megabytes_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "big.yaml").open("wb") as file:
        file.truncate(50 * 2**20)
    assert f"larger than {LARGEST // 2**20} MiB" in trouble(tmp_path / "big.yaml")


def test_instead_of_a_file_that_is_not_there_its_likeliest_neighbour_is_named(tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").touch()
    for name, remedy in {
        "profil.yaml": f"did you mean {tmp_path}/profile.yaml?",
        "zzz": f"look for it: ls {tmp_path}",
        "none/profile.yaml": f"there is no folder {tmp_path}/none either",
    }.items():
        with pytest.raises(Trouble) as caught:
            Files().read(str(tmp_path / name))
        assert caught.value.remedy == remedy
