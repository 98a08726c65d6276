"""What a first start measured, from the words of its log."""

from pathlib import Path

import pytest

from dsv4deploy.model.memory import GIB, Measured
from dsv4deploy.source.measured_start import measured_start

TWO_RANKS = """\
[2026-11-29 16:56:13 TP0] Load weight begin. avail mem=93.99 GB
[2026-11-29 16:56:13 TP1] Load weight begin. avail mem=93.30 GB
[2026-11-29 16:58:13 TP0] Load weight end. elapsed=120 s, type=DeepseekV4ForCausalLM, avail mem=19.4 GB, mem usage=74.60 GB.
[2026-11-29 16:58:14 TP1] Load weight end. elapsed=121 s, type=DeepseekV4ForCausalLM, avail mem=18.6 GB, mem usage=74.70 GB.
[2026-11-29 16:58:15 TP0] Load weight begin. avail mem=19.39 GB
[2026-11-29 16:58:20 TP0] Load weight end. elapsed=5 s, type=DeepseekV4ForCausalLMDSpark, avail mem=15.4 GB, mem usage=4.00 GB.
[2026-11-29 16:58:21 TP0] DSV4 memory calculation: bytes_per_full_token=9259.90, available_bytes=8.61 GB, c128_state_fixed=0.99 GB, full_token=884000
[2026-11-29 16:59:13 TP0] Capture target verify CUDA graph end. elapsed=41 s, mem usage=1.20 GB, avail mem=5.1 GB.
[2026-11-29 16:59:23 TP0] Capture draft decode CUDA graph end. elapsed=9 s, mem usage=-0.10 GB, avail mem=5.2 GB.
"""


def test_the_worst_rank_counts_and_the_draft_is_told_apart() -> None:
    assert measured_start(TWO_RANKS) == Measured(
        free_before=93.30 * GIB,
        weights=74.70 * GIB,
        draft=4.00 * GIB,
        bytes_per_token=8.61 * GIB / 884000,
        graphs=1.20 * GIB,
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 2203791, K size: 1.05 GB, V size: 1.05 GB",
            2.1 * GIB / 2203791,
        ),
        ("KV Cache is allocated. dtype: torch.bfloat16, #tokens: 483818, KV size: 2.08 GB", 2.08 * GIB / 483818),
        ("KV Cache is allocated. #tokens: 4096, K size: 0.00 GB, V size: 0.00 GB", None),
        ("nothing of the kind", None),
    ],
)
def test_a_pool_that_is_large_enough_tells_the_bytes_of_a_token(line: str, expected: float | None) -> None:
    assert measured_start(line).bytes_per_token == (None if expected is None else pytest.approx(expected))


def test_recorded_starts_are_read() -> None:
    logs = Path(__file__).parents[2] / "samples" / "h200-logs"
    text = (logs / "dsv4-base.log").read_text(encoding="utf-8", errors="replace")
    measured = measured_start(text)
    assert measured.free_before == pytest.approx(130.66 * GIB)
    assert measured.weights == pytest.approx(1.33 * GIB)
    assert measured.draft is None
    assert measured.bytes_per_token == pytest.approx(34.90 * GIB / 88323840)


def test_an_empty_log_measured_nothing() -> None:
    assert measured_start("") == Measured()
