"""A misspelt name finds the one that was meant, and an unrelated one finds nothing."""

import pytest

from dsv4deploy.model.nearest import likely, nearest

FLAGS = ("--cuda-graph-max-bs", "--cuda-graph-bs", "--tp-size", "--mem-fraction-static", "--moe-runner-backend")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--mem-fraction-sttic", "--mem-fraction-static"),
        ("--mem_fraction_static", "--mem-fraction-static"),
        ("MEM_FRACTION_STATIC", "--mem-fraction-static"),
        ("--max-bs-cuda-graph", "--cuda-graph-max-bs"),
        ("--tensor-parallel-size", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_a_misspelt_name_finds_what_was_meant(word: str, meant: str | None) -> None:
    assert nearest(word, FLAGS) == meant


def test_several_likely_names_come_in_the_order_of_likeness() -> None:
    assert likely("--cuda-graph-max-b", FLAGS) == ("--cuda-graph-max-bs", "--cuda-graph-bs")
    assert likely("--cuda-graph-max-b", FLAGS, 1) == ("--cuda-graph-max-bs",)
    assert likely("--zzz", FLAGS) == ()
