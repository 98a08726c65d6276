"""`dsv4deploy report` tells somebody who was not there what was tried, what failed, and what is still unknown."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "dsv4deploy"
DATA = Path(__file__).parents[1] / "data/campaign"

EVIDENCE = Path(__file__).parents[2] / "docs/evidence/torch-compile-modes-report.md"


def run(*words: str) -> tuple[int, str]:
    done = subprocess.run([COMMAND, "report", *words], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(DATA / "records", tmp_path / "flash/.dsv4deploy")
    return tmp_path / "flash"


def test_the_report_of_recorded_experiments_is_the_one_that_was_read_and_found_good(project: Path) -> None:
    code, out = run("--project", str(project), "-o", str(project / "report.md"))
    assert code == 0, out
    assert out == f"{project}/report.md: 21 trials, 4 questions, 3 marks\n"
    assert (project / "report.md").read_text() == (DATA / "report.md").read_text()


def test_the_report_of_an_experiment_on_a_card_is_that_of_its_records(tmp_path: Path) -> None:
    """`examples/compile-vs-kernel/modes.yaml`, run by `diagnose --local` with the real SGLang on one H200."""
    project = tmp_path / "compile-modes"
    shutil.copytree(DATA.parent / "compile-modes/records", project / ".dsv4deploy")
    shutil.copytree(DATA.parent / "compile-modes/marks", project / "marks")
    code, out = run("--project", str(project), "-o", str(project / "report.md"))
    assert (code, out) == (0, f"{project}/report.md: 3 trials, 1 question, 1 mark\n")
    note, _, rest = EVIDENCE.read_text().partition("\n\n")
    assert note.startswith("<!-- Made by `dsv4deploy report`")
    assert (project / "report.md").read_text() == rest


def test_programs_get_the_same(project: Path) -> None:
    code, out = run("--project", str(project), "--format", "json")
    assert code == 0
    told = json.loads(out)
    assert (told["schema"], told["project"], len(told["trials"]), len(told["verdicts"])) == ("report/1", "flash", 21, 4)
    assert {"enable_torch_compile": "true", "SGLANG_SM120_MMA_FLASHMLA": "1"}.items() <= told["matrix"][-1][
        "settings"
    ].items()
    assert [one["end"] for one in told["applies"]] == ["applied", "rolled back", ""]


def test_a_project_without_records_says_so(tmp_path: Path) -> None:
    code, out = run("--project", str(tmp_path))
    assert code == 0
    assert "Everything: nothing has been tried." in out


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert run("--project", str(tmp_path / "nowhere"))[0] == 2


def test_a_record_that_cannot_be_read_is_named(project: Path) -> None:
    (project / ".dsv4deploy/verdicts/memory.yaml").write_text("verdict: 5\n")
    code, out = run("--project", str(project))
    assert code == 3
    assert "memory.yaml is no verdict" in out
