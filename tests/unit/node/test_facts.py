"""Facts that are told by what a program of the node says."""

import pytest

from dsv4deploy.node.facts import compat_first

HEAD = "412 libs found in cache `/etc/ld.so.cache'\n"
DRIVER = "\tlibcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1\n"
COMPAT = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda-13.0/compat/libcuda.so.1\n"


@pytest.mark.parametrize(
    ("cache", "first"),
    [
        (HEAD + COMPAT + DRIVER, True),
        (HEAD + DRIVER + COMPAT, False),
        (HEAD + DRIVER, False),
        (HEAD + "\tlibcudart.so.13 (libc6,x86-64) => /usr/local/cuda-13.0/compat/libcudart.so.13\n", None),
        ("", None),
    ],
)
def test_the_libcuda_that_stands_first_is_the_one_that_loads(cache: str, first: bool | None) -> None:
    assert compat_first(cache) is first
