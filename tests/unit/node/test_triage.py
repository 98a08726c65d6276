"""Every recorded log of the real engine is judged as its answer key says, however it is fed."""

from typing import Any

from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.story import Story
from dsv4deploy.node.triage import told, triage_text


def assert_as_the_key_says(answer: dict[str, Any], key: dict[str, Any]) -> None:
    also = key.get("also_ok", {})
    for field in ("state", "stage", "class", "line"):
        assert answer[field] in [key[field], *also.get(field, [])], field
    assert answer["line"] not in key.get("not_the_cause", [])
    assert answer["ready_line"] == key.get("ready_line")
    then = key.get("then") or {}
    assert (answer["then"] or {}).get("state") == then.get("state")
    assert (answer["then"] or {}).get("line") == then.get("line")


def test_a_recorded_log_fed_whole(log: bytes, key: dict[str, Any], signatures: Catalogue) -> None:
    answer = triage_text(log, signatures)
    assert_as_the_key_says(answer, key)
    if answer["line"] == key["line"]:
        assert answer["root"].rstrip("…")[:60] in key["root"]


def test_a_recorded_log_fed_line_by_line(log: bytes, key: dict[str, Any], signatures: Catalogue) -> None:
    story = Story(signatures)
    for line in log.splitlines(keepends=True):
        story.feed(line)
    story.close()
    assert_as_the_key_says(told(story), key)
