"""Throughput is measured until the answer is clear, or sure to two percent, or twelve times."""

import json
from itertools import cycle
from typing import Any

import pytest

from dsv4deploy.node.checks.target import Answer, Target
from dsv4deploy.node.checks.throughput import measured, settled
from dsv4deploy.node.trouble import Trouble


def rates(*told: float) -> dict[str, Any]:
    """What is measured where the answers come in these rates, over and over; asked about 50 tokens/s."""
    turns = cycle(told)
    return settled(lambda: next(turns), 50)


def test_what_is_clear_is_measured_three_times() -> None:
    assert rates(20, 22, 24) == {"tokens_per_s": 22, "error": 4.97, "runs": 3, "tokens": 64}
    assert rates(80, 90, 100)["runs"] == 3


def test_what_is_close_is_measured_until_it_is_sure() -> None:
    found = rates(48, 52, 50, 50)
    assert found["runs"] > 3
    assert found["error"] <= 0.02 * found["tokens_per_s"] or found["runs"] == 12


def test_what_never_settles_ends_with_its_error() -> None:
    found = rates(10, 90)
    assert (found["runs"], found["tokens_per_s"]) == (12, 50)
    assert found["error"] > 20


class Server(Target):
    """A server that answers with this text."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__({"port": 1})
        self.answer = Answer(status, body, 0.5)
        self.asked: list[dict[str, Any] | None] = []

    def ask(self, path: str, document: dict[str, Any] | None = None, timeout: float | None = None) -> Answer:  # noqa: ARG002 (as it is asked)
        self.asked.append(document)
        return self.answer


def test_the_first_answer_only_warms_up_and_tokens_are_those_the_server_counted() -> None:
    server = Server(200, json.dumps({"usage": {"completion_tokens": 32}}))
    assert measured(server, 0) == {"tokens_per_s": 64, "error": 0, "runs": 3, "tokens": 64}
    assert len(server.asked) == 4
    assert all(one and one["ignore_eos"] and one["max_tokens"] == 64 for one in server.asked)


@pytest.mark.parametrize(("status", "body"), [(500, "{}"), (200, "<html>"), (200, "{}")])
def test_a_request_without_a_completion_is_no_measurement(status: int, body: str) -> None:
    with pytest.raises(Trouble, match="gave no completion"):
        measured(Server(status, body), 50)
