"""A wheel fits an interpreter or it does not, and is unpacked without leaving its folder."""

import io
import zipfile
from pathlib import Path

import pytest
import toys

from dsv4deploy.node.venv import Venv
from dsv4deploy.node.wheel import WheelError, about, contents, left_out, misfit, tags, unpack

NODE = Venv(
    "python", "3.12.1", "cpython", "cpython-312-x86_64-linux-gnu", "linux-x86_64", ["glibc", "2.36"], Path("/v"), {}, {}
)


@pytest.mark.parametrize(
    "name",
    [
        "k-1.0-py3-none-any.whl",
        "k-1.0-py2.py3-none-any.whl",
        "k-1.0-cp312-cp312-linux_x86_64.whl",
        "k-1.0-cp38-abi3-manylinux2014_x86_64.whl",
        "k-1.0-cp312-abi3-manylinux_2_34_x86_64.whl",
        "k-1.0-1cu130-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    ],
)
def test_these_fit_python_312_on_x86(name: str) -> None:
    assert not misfit(tags(name), NODE)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("k-1.0-cp311-cp311-linux_x86_64.whl", "for cp311"),
        ("k-1.0-cp313-abi3-linux_x86_64.whl", "for cp313"),
        ("k-1.0-py2-none-any.whl", "for py2"),
        ("k-1.0-cp312-cp312t-linux_x86_64.whl", "ABI is cp312t"),
        ("k-1.0-cp312-cp312-linux_aarch64.whl", "linux_aarch64"),
        ("k-1.0-cp312-cp312-manylinux_2_39_x86_64.whl", "glibc 2.36"),
        ("k-1.0-cp312-cp312-win_amd64.whl", "win_amd64"),
    ],
)
def test_these_do_not_and_the_reason_is_told(name: str, reason: str) -> None:
    assert reason in misfit(tags(name), NODE)


def test_it_is_unpacked_beside_the_packages(tmp_path: Path) -> None:
    data = toys.wheel(tmp_path).read_bytes()
    laid = unpack(data, tmp_path / "site")
    assert laid == contents(data)
    assert (tmp_path / "site/sglang/attention.py").read_text() == toys.SOURCES["sglang/attention.py"]
    assert (tmp_path / "site/sglang-0.5.23.dist-info/RECORD").is_file()


def packed(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return data.getvalue()


def test_scripts_and_headers_are_left_out_and_told() -> None:
    data = packed("k-1.dist-info/WHEEL", "k-1.data/scripts/run", "k-1.data/purelib/k/a.py", "k/b.py")
    assert contents(data) == ["k-1.dist-info/WHEEL", "k/a.py", "k/b.py"]
    assert left_out(data) == ["k-1.data/scripts/run"]


def test_its_version_and_record_are_read_from_its_metadata(tmp_path: Path) -> None:
    data = toys.wheel(tmp_path, "0.5.24+sm120").read_bytes()
    assert about(data) == ("0.5.24+sm120", "sglang-0.5.24+sm120.dist-info/RECORD")


def test_a_wheel_without_a_record_is_told() -> None:
    with pytest.raises(WheelError, match="no whole wheel"):
        about(packed("k-1.dist-info/WHEEL", "k-1.dist-info/METADATA", "k/RECORD"))


@pytest.mark.parametrize("name", ["../x", "/etc/x", "k/../../x", "k\\..\\x"])
def test_a_path_that_leads_out_is_refused(name: str) -> None:
    with pytest.raises(WheelError, match="leads out"):
        contents(packed("k-1.dist-info/WHEEL", name))


@pytest.mark.parametrize("data", [b"", b"no zip", packed("k/a.py")])
def test_what_is_no_wheel_is_told(data: bytes) -> None:
    with pytest.raises(WheelError, match="no wheel"):
        contents(data)


def test_a_name_that_is_no_wheels_is_told() -> None:
    with pytest.raises(WheelError, match=r"no wheel's name"):
        tags("kernel.whl")
