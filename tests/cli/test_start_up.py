"""A check of a plain profile loads what it needs and nothing else; how long that takes is a matter of benchmarks/."""

import subprocess
import sys
from pathlib import Path

import pytest

PROFILE = str(Path(__file__).parents[2] / "examples/dsv4-flash-nvfp4-tp4/profile.yaml")
# Each is for other commands, or for profiles and projects that have more.
NEVER = {
    "ansible_runner", "asyncio", "http.server", "jinja2", "markdown_it", "pygments", "rich", "tree_sitter",
    "tree_sitter_bash",
    "dsv4deploy.model.imported", "dsv4deploy.model.mark", "dsv4deploy.model.patch", "dsv4deploy.rim.ansible",
    "dsv4deploy.rim.engine_python", "dsv4deploy.source.bash", "dsv4deploy.source.extract_flags",
    "dsv4deploy.source.model_folder", "dsv4deploy.source.static",
}  # fmt: skip
PROGRAM = """\
import sys
from dsv4deploy.__main__ import carried_out
code = carried_out()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def loaded(*words: str) -> set[str]:
    """The modules that a command loads, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_a_plain_check_loads_no_reader_of_other_things() -> None:
    assert loaded("validate", PROFILE) & NEVER == set()


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_loads_no_model_at_all(words: list[str]) -> None:
    assert loaded(*words) & (NEVER | {"yaml", "dsv4deploy.flow", "dsv4deploy.model.profile"}) == set()


def test_render_loads_its_templates_and_no_patches() -> None:
    modules = loaded("render", PROFILE, "--stdout", "serve.sh")
    assert modules & NEVER == {"jinja2"}
