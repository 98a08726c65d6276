"""Makes starts on several nodes at once: one a node, the next as soon as a node is free, and none left behind."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from dsv4deploy.cli.launching import Node, Started, unhurried

Next = Callable[[Sequence[str]], str | None]
Launch = Callable[[Node, str, threading.Event], Started]
Done = Callable[[Node, str, Started], object]


@dataclass(frozen=True, slots=True)
class Hands:
    """What is called: `next_name` (given what runs now), `launch` in a thread of its own, and `done` in this one."""

    next_name: Next
    launch: Launch
    done: Done


def launched(nodes: Sequence[Node], hands: Hands) -> None:
    """Make starts until there is nothing left to start.

    Raises:
        whatever a launch or an interrupt raises, once every start is stopped.
    """
    stopping, running = threading.Event(), dict[Future[Started], tuple[Node, str]]()
    with ThreadPoolExecutor(len(nodes)) as pool:
        try:
            while True:
                _begin(pool, nodes, hands, running, stopping)
                if not running:
                    return
                for one in wait(running, return_when=FIRST_COMPLETED).done:
                    hands.done(*running[one], one.result())
                    del running[one]
        except BaseException:
            stopping.set()
            with unhurried():
                wait(running)
                # What came to its end all the same counts.
                for one, (node, name) in running.items():
                    if one.exception() is None:
                        hands.done(node, name, one.result())
            raise


def _begin(
    pool: ThreadPoolExecutor,
    nodes: Sequence[Node],
    hands: Hands,
    running: dict[Future[Started], tuple[Node, str]],
    stopping: threading.Event,
) -> None:
    """Give each free node the next start."""
    taken = {node.name for node, _ in running.values()}
    for node in nodes:
        name = hands.next_name([name for _, name in running.values()]) if node.name not in taken else None
        if name is not None:
            running[pool.submit(hands.launch, node, name, stopping)] = node, name
