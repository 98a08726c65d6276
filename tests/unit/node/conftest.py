"""Fixtures of tests that ask the tool on a node of their own."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from local_node import Node


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    one = Node(tmp_path)
    yield one
    one.wipe()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object], float], None]:
    def until(check: Callable[[], object], limit_s: float = 15) -> None:
        end = time.monotonic() + limit_s
        while not check():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.05)

    return until
