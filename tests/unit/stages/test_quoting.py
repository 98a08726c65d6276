"""One word in, the same word out: through a real bash, and as systemd reads a unit."""

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.stages.quoting import comment, shell

WORDS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=40)
HOSTILE = [
    "",
    " ",
    "plain",
    "~",
    "~root/x",
    "-rf",
    "--",
    "a b",
    "it's",
    '"quoted"',
    "$(touch /tmp/owned)",
    "`id`",
    "$HOME",
    "a\nb",
    "a\\nb",
    "tab\there",
    "%s %% %n",
    "é ü 漢字 🙂",
    "!history",
    "{a,b}",
    "*?[x]",
    "a#b #c",
    "\x1b[31m",
    "=x",
    "then",
    "x" * 10_000,
]


def through_bash(words: list[str]) -> list[str]:
    script = "printf '%s\\0' " + " ".join(map(shell, words))
    for environment in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}):
        said = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, check=True).stdout
    return said.decode().split("\0")[:-1] if words else []


def test_hostile_words_survive_bash() -> None:
    assert through_bash(HOSTILE) == HOSTILE


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_any_words_survive_bash(words: list[str]) -> None:
    assert through_bash(words) == words


@given(WORDS)
def test_a_comment_is_one_line(text: str) -> None:
    assert "\n" not in comment(text)
    assert "\r" not in comment(text)
