"""What the loader's list says about forward-compatibility libraries."""

import pytest

from dsv4deploy.node.facts import compat_first

DRIVER = "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
COMPAT = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda-13.0/compat/libcuda.so.1\n"
OTHER = "\tlibcudart.so.13 (libc6,x86-64) => /usr/local/cuda-13.0/compat/libcudart.so.13\n"


@pytest.mark.parametrize(
    ("libraries", "first"),
    [(DRIVER + COMPAT, False), (COMPAT + DRIVER, True), (OTHER, None), ("", None)],
    ids=["driver first", "compat first", "no libcuda", "no list"],
)
def test_which_libcuda_the_loader_finds_first(libraries: str, first: bool | None) -> None:
    assert compat_first(libraries) is first
