"""What the project never says: names of machines it was built on, of people who built it, of places only they can see."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Put together here, so that this file does not say them.
NEVER = [
    "../" + "shared",
    "/wo" + "rk/",
    "." + "library",
    "sub" + "agent",
    "farm" + "-",
    "pypi" + ".org",
    "files.python" + "hosted",
]


@pytest.mark.parametrize("word", NEVER)
def test_no_file_says(word: str) -> None:
    found = subprocess.run(["git", "grep", "-lIF", word], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout == ""
