"""The tool on the node runs with the Python 3.8 that a node may have."""

import ast
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from recorded import COMPILED, SAMPLES

PACKAGE = Path(__file__).parents[3] / "dsv4deploy"
SOURCES = sorted((PACKAGE / "node").rglob("*.py"))
TRIAGE = """
import json, sys
from dsv4deploy.node import follow, triage
print(json.dumps(triage.run(json.load(sys.stdin))))
"""


def python38() -> str | None:
    found = [str(path) for path in Path.home().glob(".pyenv/versions/3.8.*/bin/python3")]
    found.append(shutil.which("python3.8") or "false")
    works = (one for one in found if subprocess.run([one, "-c", ""], capture_output=True, check=False).returncode == 0)
    return next(works, None)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: f"{source.parent.name}-{source.stem}")
def test_a_module_of_the_node_is_python_38(source: Path) -> None:
    ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.skipif(python38() is None, reason="no Python 3.8 here")
def test_a_recorded_log_is_judged_by_python_38() -> None:
    asked = {"log": str(SAMPLES / "h200-logs" / "dsv4-tc.log"), "signatures": COMPILED}
    done = subprocess.run(
        [str(python38()), "-I", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{TRIAGE}"],
        input=json.dumps(asked).encode(),
        capture_output=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert (answer["class"], answer["stage"], answer["line"]) == ("stream-capture", "capture", 493)
