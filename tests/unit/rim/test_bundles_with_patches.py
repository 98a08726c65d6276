"""A bundle with patches has folders and files that are no text; writing, reading, comparing and planning know it."""

from pathlib import Path

import pytest
import toys

from dsv4deploy.model.bundle import Bundle
from dsv4deploy.rim import bundles, kernels, plan_file
from dsv4deploy.views import differences


@pytest.fixture
def bundle(tmp_path: Path) -> tuple[Path, Bundle]:
    folder = toys.overlay(tmp_path)
    (folder / "files/k.abi3.so").write_bytes(b"\x7fELF\xff\xfe")
    text = (folder / "patch.yaml").read_text()
    (folder / "patch.yaml").write_text(
        text.replace("  - path: attention.py\n", "  - path: attention.py\n  - path: k.abi3.so\n")
    )
    return toys.bundle(tmp_path, toys.venv(tmp_path / "venv", toys.wheel(tmp_path)), "mma")


def test_it_reads_back_as_it_was_written(bundle: tuple[Path, Bundle]) -> None:
    folder, made = bundle
    assert bundles.read(folder) == {artifact.path: artifact.text for artifact in made.files}
    assert differences.render(bundles.read(folder), made) == "No changes.\n"


def test_the_shadow_beside_it_is_no_part_of_it(bundle: tuple[Path, Bundle]) -> None:
    folder, made = bundle
    kernels.act("install", folder)
    assert differences.render(bundles.read(folder), made) == "No changes.\n"


def test_a_file_that_is_no_text_differs_without_being_shown(bundle: tuple[Path, Bundle]) -> None:
    folder, made = bundle
    before = {**bundles.read(folder), "patches/mma/files/k.abi3.so": b"\xff"}
    assert differences.render(before, made).startswith("Binary files a/patches/mma/files/k.abi3.so and b/")


def test_a_plan_carries_it(bundle: tuple[Path, Bundle], tmp_path: Path) -> None:
    folder, _ = bundle
    files = plan_file._files(folder)  # noqa: SLF001 (the door of the whole plan needs a fleet)
    (tmp_path / "unpacked").mkdir()
    again = plan_file._unpacked(tmp_path / "unpacked/one", files)  # noqa: SLF001 (likewise)
    assert bundles.read(again) == bundles.read(folder)
    with pytest.raises(ValueError, match="leads out"):
        plan_file._unpacked(tmp_path / "unpacked/two", {"../x": files["serve.sh"]})  # noqa: SLF001 (likewise)
