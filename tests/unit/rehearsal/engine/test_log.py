"""Progress bars look as in the recorded logs."""

from collections.abc import Callable
from types import ModuleType

import pytest

Module = Callable[[str, str], ModuleType]


@pytest.mark.parametrize(
    ("done", "took", "expected"),
    [
        (0, 0.0, "Capturing:   0%|          | 0/3 [00:00<?, ?it/s]"),
        (1, 1.94, "Capturing:  33%|███▎      | 1/3 [00:01<00:03,  1.94s/it]"),
        (2, 95.0, "Capturing:  67%|██████▋   | 2/3 [01:35<00:47, 47.50s/it]"),
        (3, 2.56, "Capturing: 100%|██████████| 3/3 [00:02<00:00,  1.17it/s]"),
    ],
)
def test_a_bar_is_that_of_tqdm(done: int, took: float, expected: str, module: Module) -> None:
    assert module("0.5.21", "log").bar(done, 3, took, "Capturing") == expected


def test_the_loader_has_a_bar_of_its_own(module: Module) -> None:
    shown = module("0.5.21", "log").shards(23, 46, 23.0, "Multi-thread loading shards")
    assert shown == "Multi-thread loading shards:  50% Completed | 23/46 [00:23<00:23,  1.00it/s]"


@pytest.mark.parametrize("total", [1, 7, 46, 500])
def test_ticks_start_at_nothing_and_end_with_everything(total: int, module: Module) -> None:
    ticks = list(module("0.5.21", "log").ticks(total, 0.0))
    assert (ticks[0], ticks[-1]) == (0, total)
    assert ticks == sorted(ticks)
    assert len(ticks) <= 51
