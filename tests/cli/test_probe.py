"""`dsv4deploy probe`: names are checked before anything runs, and answers written before are shown."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import toys

from dsv4deploy.cli import probing
from dsv4deploy.model.trouble import Exit, Trouble

COMMAND = Path(sys.executable).parent / "dsv4deploy"
RECORDINGS = Path(__file__).parents[1] / "samples/probes"
DOCUMENT = {
    "schema": "probe/1",
    "at": "2026-12-01T10:00:00+00:00",
    "device": "cuda",
    "stack": {
        "torch": "2.11.0+cu130",
        "triton": "3.6.0",
        "cuda": "13.0",
        "sm": "9.0",
        "gpus": [{"name": "NVIDIA H200", "sm": "9.0", "pcie": "5x16"}] * 2,
        "links": {"GPU0-GPU1": "NV18"},
    },
    "seconds": 40,
    "results": [
        {
            "name": "all-reduce",
            "outcome": "ok",
            "seconds": 4,
            "ranks": 2,
            "figures": {"payload_1024": {"bytes": 1024, "us": 20.0, "algorithm_gb_s": 0.05, "bus_gb_s": 0.05}},
            "transport": ["P2P/CUMEM"],
        },
        {"name": "peer-write", "outcome": "ok", "seconds": 4},
        {
            "name": "capture-unjoined",
            "outcome": "ok",
            "seconds": 1,
            "left": {"processes": [], "cards_mib": [0, 512]},
        },
    ],
}


def run(*words: str) -> tuple[int, str]:
    done = subprocess.run([COMMAND, "probe", *words], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_answers_are_shown_with_card_link_news_and_verdict(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text(json.dumps(DOCUMENT))
    code, out = run("--from", str(tmp_path / "answers.json"))
    assert code == 0
    assert "2 x NVIDIA H200 (sm 9.0, PCIe 5x16; GPU0-GPU1 NV18)" in out
    assert "NV18: 450 GB/s one way" in out
    assert "all-reduce went via P2P/CUMEM" in out
    assert "news: capture-unjoined is ok; on the same stack" in out
    assert "capture-unjoined left behind: processes [], MiB on cards [0, 512]" in out
    assert "peer access: right" in out


@pytest.mark.parametrize(
    ("recording", "code", "said"),
    [
        ("h200-patched-right", 0, ()),
        ("h200-patched-wrong", 1, ("error: patched-kernel: trials/mma-decode.py:trial: the eager result is off", "do not serve with this patch")),
        ("h200-pool-taken", 1, ("error: pool: OutOfMemoryError: CUDA out of memory. Tried to allocate 111.28 GiB", "nvidia-smi")),
    ],
)  # fmt: skip
def test_a_fault_of_a_patch_or_a_card_is_found_with_a_remedy(recording: str, code: int, said: tuple[str, ...]) -> None:
    """Recorded on an H200: a patched kernel that is right, the same with another scale, a card half taken."""
    found, out = run("--from", str(RECORDINGS / f"{recording}.json"))
    assert found == code
    assert ("error:" in out) is bool(said)
    assert all(words in out for words in said)
    assert "peer access" not in out, "nobody asked"


@pytest.mark.parametrize("recording", ["h200", "h200-x2-wrong"])
def test_a_known_hazard_and_an_injected_fault_are_no_finding(recording: str) -> None:
    assert run("--from", str(RECORDINGS / f"{recording}.json"))[0] == 0


def test_wrong_answers_over_peer_access_are_found(tmp_path: Path) -> None:
    results = [{"name": "all-reduce", "outcome": "wrong", "because": "1 of 4", "seconds": 4}]
    (tmp_path / "answers.json").write_text(json.dumps({**DOCUMENT, "results": results}))
    code, out = run("--from", str(tmp_path / "answers.json"))
    assert (code, "nccl.p2p_disable: true" in out) == (1, True), out


def test_json_is_the_document_itself(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text(json.dumps(DOCUMENT))
    _, out = run("--from", str(tmp_path / "answers.json"), "--format", "json")
    assert json.loads(out) == DOCUMENT


def test_a_misspelt_name_is_refused_with_the_one_that_was_meant() -> None:
    code, out = run("al-reduce")
    assert code == 2
    assert "dsv4deploy probe all-reduce" in out


def test_a_python_without_torch_is_named() -> None:
    code, out = run("all-reduce", "--python", sys.executable)
    assert code == 3
    assert "has no torch" in out


def test_a_node_without_a_card_is_told_in_one_line(tmp_path: Path) -> None:
    unknown = [{"name": name, "outcome": "unknown", "because": "needs a GPU", "seconds": 0} for name in ("pool", "b")]
    stack: dict[str, object] = {"torch": "2.13.0+cpu", "triton": None, "cuda": None, "gpus": []}
    (tmp_path / "answers.json").write_text(json.dumps({**DOCUMENT, "stack": stack, "results": unknown}))
    code, out = run("--from", str(tmp_path / "answers.json"))
    assert code == 3
    assert "no GPU: this torch is built without CUDA, so none of 2 probes could ask its question" in out
    assert "needs a GPU" not in out


def test_a_profile_brings_python_pool_and_patched_kernels(tmp_path: Path) -> None:
    engine = toys.venv(tmp_path / "venv", toys.wheel(tmp_path))
    folder = toys.overlay(tmp_path, more="trial: {file: trial.py}\n")
    (folder / "trial.py").write_text("def trial():\n    return None, None\n")
    profile = toys.profile(tmp_path, engine, "mma")
    code, out = run("--profile", str(profile))
    assert code == 3
    assert "the pool is not predicted: needs" in out
    assert f"{engine}/bin/python cannot run the probes: {engine}/bin/python has no torch" in out


def test_a_profile_that_cannot_be_read_is_told_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text("name: x\nengin: {}\n")
    code, out = run("--profile", str(tmp_path / "profile.yaml"))
    assert code == 1
    assert "did you mean engine?" in out


def test_a_file_that_is_no_answer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text("{}")
    code, out = run("--from", str(tmp_path / "answers.json"))
    assert code == 3
    assert "is no probe document" in out


def test_a_node_that_gives_no_answer_takes_none_from_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    answers: dict[str, str | Trouble] = {"gpu01": Trouble("gpu01: probe: unreachable"), "gpu02": json.dumps(DOCUMENT)}
    assert probing.shown(answers, None, as_json=False) == Exit.APPLY_FAILED
    said = capsys.readouterr()
    assert "gpu02\n" in said.out
    assert "peer access: right" in said.out
    assert "error: gpu01: probe: unreachable" in said.err


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text(json.dumps(DOCUMENT))
    code, out = run("--from", str(tmp_path / "answers.json"), "-o", str(tmp_path / "no/such"))
    assert (code, "no/such cannot be written: No such file or directory" in out) == (3, True), out
