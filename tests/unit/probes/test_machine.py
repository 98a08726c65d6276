"""The topology of a machine is read from the matrix that `nvidia-smi topo -m` prints."""

import pytest

from dsv4deploy.probes.machine import links, visible

HEAD = "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
ROWS = "GPU0\t X \tNV18\tSYS\tPIX\t0-31\t0\nGPU1\tNV18\t X \tPHB\tSYS\t0-31\t0\nGPU2\tSYS\tPHB\t X \tPIX\t0-31\t0\n"
LEGEND = "NIC0\tPIX\tSYS\tPIX\t X \t\t\n\nLegend:\n\n  X    = Self\n  GPU0 = nothing\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD + ROWS + LEGEND.splitlines()[0], {"GPU0-GPU1": "NV18", "GPU0-GPU2": "SYS", "GPU1-GPU2": "PHB"}),
        ("\t\x1b[4mGPU0\tCPU Affinity\x1b[0m\nGPU0\t X \t0-15\n", {}),
        ("", {}),
        ("Failed to initialize NVML\n", {}),
    ],
)
def test_each_pair_has_its_link(text: str, expected: dict[str, str]) -> None:
    assert links(text) == expected


@pytest.mark.parametrize(("chosen", "count"), [(None, 2), ("0", 1), ("1,0", 2), ("0,1,2,3", 2), ("", 0), ("-1", 0)])
def test_only_cards_that_a_process_may_use_count(chosen: str | None, count: int) -> None:
    assert visible(2, chosen) == count
