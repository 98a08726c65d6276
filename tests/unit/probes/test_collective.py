"""The collective cases, with torch and gloo on two processes of this machine: no card, injected faults.

They need a Python with torch: DSV4_TORCH_PYTHON=/path/to/python. Without one they are listed as skipped.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get("DSV4_TORCH_PYTHON", "")
ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(not PYTHON, reason="needs DSV4_TORCH_PYTHON, a Python with torch")


def ask(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    out = folder / "answers.json"
    command = [PYTHON, "-m", "dsv4deploy.probes", str(out), "all-reduce", "peer-write", "--device", "cpu", *words]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    return {one["name"]: one for one in json.loads(out.read_text())["results"]}


def test_the_answer_is_right_and_every_payload_has_its_figures(tmp_path: Path) -> None:
    found = ask(tmp_path, "--payloads", "1024,1048576")
    assert {name: one["outcome"] for name, one in found.items()} == {"all-reduce": "ok", "peer-write": "ok"}
    assert found["all-reduce"]["figures"]["payload_1048576"]["bus_gb_s"] > 0
    assert set(found["peer-write"]["figures"]) == {"copy_1024", "copy_1048576"}


@pytest.mark.parametrize(("fault", "outcome"), [("wrong", "wrong"), ("hang", "hangs"), ("die", "died")])
def test_an_injected_fault_has_its_verdict_and_leaves_nothing(tmp_path: Path, fault: str, outcome: str) -> None:
    for one in ask(tmp_path, "--payloads", "1024", "--fault", fault, "--limit", "5").values():
        assert one["outcome"] == outcome
        assert one["left"]["processes"] == []
