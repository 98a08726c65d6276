"""Names that somebody may have meant."""

import pytest

from dsv4deploy.source.nearest import misspelt, nearest

NAMES = ("NCCL_IB_HCA", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_P2P_LEVEL", "NCCL_P2P_DISABLE", "SGLANG_USE_TOPK_V2")


@pytest.mark.parametrize("written", ["NCCL_P2P_LEVL", "NCCL_P2P_LEVEVL", "NCCL_P2P_LEVLE", "NCCL_LEVEL_P2P"])
def test_a_slip_is_one_letter_more_less_or_swapped_or_the_parts_in_another_order(written: str) -> None:
    assert misspelt(written, NAMES)[0] == "NCCL_P2P_LEVEL"


@pytest.mark.parametrize("written", ["NCCL_P2P_LIMIT", "SGLANG_USE_TOPK_V3", "NCCL_NEW_THING"])
def test_another_word_or_number_is_no_slip(written: str) -> None:
    assert misspelt(written, NAMES) == ()


def test_the_likeliest_comes_first_and_parts_count_in_any_order() -> None:
    known = ["--cuda-graph-max-bs-decode", "--cuda-graph-bs-decode", "--max-queued-requests"]
    assert nearest("--cuda-graph-decode-max-bs", known)[0] == "--cuda-graph-max-bs-decode"
    assert nearest("--zzz", known) == ()
