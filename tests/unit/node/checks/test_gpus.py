"""Cards by the words of nvidia-smi and of the kernel."""

from typing import Any

import pytest

from dsv4deploy.node.checks.gpus import FIELDS, faults, judge, memory, parsed, processes
from dsv4deploy.node.checks.target import Finding

FINE = {
    "uuid": "GPU-{}", "memory.used": "90112", "memory.total": "97887", "ecc.errors.uncorrected.volatile.total": "0",
    "remapped_rows.pending": "No", "clocks_throttle_reasons.hw_slowdown": "Not Active",
    "clocks_throttle_reasons.hw_thermal_slowdown": "Not Active",
    "clocks_throttle_reasons.hw_power_brake_slowdown": "Not Active", "utilization.gpu": "97", "power.draw": "310.5",
}  # fmt: skip
XID = "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def rows(*changes: dict[str, str]) -> str:
    """`nvidia-smi --query-gpu` for as many cards as there are changes."""
    cards = ({"index": str(n), **FINE, "uuid": f"GPU-{n}", **change} for n, change in enumerate(changes))
    return "".join(", ".join(card[field] for field in FIELDS) + "\n" for card in cards)


def told(*changes: dict[str, str], users: str | None = None, kernel: tuple[str, ...] = (), **request: Any) -> Finding:
    listed = "".join(f"GPU-{n}, {100 + n}, 90000\n" for n in range(len(changes))) if users is None else users
    asked = {"pids": [100, 101, 102, 103], **request}
    return judge(parsed(rows(*changes)), processes(listed), list(kernel), asked)


def test_sound_cards() -> None:
    assert told({}, {}) == Finding("good", "2 cards are sound, 90112 to 90112 MiB in use")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ecc.errors.uncorrected.volatile.total": "3"}, "card 1 has 3 uncorrected memory errors"),
        ({"remapped_rows.pending": "Yes"}, "card 1 waits for a reset"),
        ({"clocks_throttle_reasons.hw_thermal_slowdown": "Active"}, "card 1 is slowed down (hw_thermal_slowdown)"),
        ({"memory.used": "60000"}, "card 0 holds 90112 MiB and another one 60000 MiB"),
    ],
)
def test_a_card_that_is_not(change: dict[str, str], words: str) -> None:
    found = told({}, change)
    assert found.state == "bad"
    assert found.told.startswith(words)


def test_processes_on_cards() -> None:
    assert "process 4711 computes on card 0" in told({}, users="GPU-0, 100, 9\nGPU-0, 4711, 9\n").told
    assert told({}, users="GPU-0, 100, 9\nGPU-0, 101, 9\n").told.startswith("2 processes of ours are on card 0")
    assert told({}, {}, users="GPU-0, 100, 9\n").told == "card 1 is wedged: 90112 MiB are in use by no process"
    assert told({}, {}, users="").state == "good"
    assert told({}, {"memory.used": "70000"}, users="GPU-0, 100, 9\n", devices=[0]).state == "good"


def test_the_memory_of_cards_that_tell_it() -> None:
    cards = parsed(rows({}, {"memory.used": "[N/A]"}))
    assert memory(cards) == [{"index": 0, "used_mib": 90112.0, "total_mib": 97887.0}]


def test_faults_of_a_card_and_not_of_a_program() -> None:
    assert faults([XID, XID.replace("79", "13"), "usb 1-1: new device"]) == [("PCI:0000:41:00", 79)]
    assert told({}, kernel=(XID,)).told == "the driver reported Xid 79 on PCI:0000:41:00"


def test_what_a_card_does_not_tell_is_no_error() -> None:
    assert told({"ecc.errors.uncorrected.volatile.total": "[N/A]", "remapped_rows.pending": "[N/A]"}).state == "good"
