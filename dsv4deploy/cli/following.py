"""Shows the logs of several nodes while they are written, until it is interrupted."""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from dsv4deploy.cli import fleet
from dsv4deploy.cli.applying import interruptible
from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float:
    """`15m` in seconds.

    Raises:
        Trouble: it is no number with a unit.
    """
    found = re.fullmatch(r"(\d+)([smhd])", text)
    if not found:
        raise Trouble(f"--since {text} is no time span", "a number and a unit, such as 30s, 15m, 2h, 1d", Exit.USAGE)
    return float(found[1]) * _UNITS[found[2]]


def show(nodes: Sequence[str], node: str, lines: Sequence[str]) -> None:
    """Print lines of one node's log, with its name in front where there are several nodes."""
    width = max(map(len, nodes))
    front = f"{node:{width}}  " if len(nodes) > 1 else ""
    sys.stdout.write("".join(f"{front}{line}\n" for line in lines))
    sys.stdout.flush()


def follow(options: ansible.Options, nodes: Sequence[str], name: str, lines: int, since_s: float) -> Exit:
    """Follow until Ctrl-C; a node that is lost meanwhile is told, and the others go on."""
    lost = set()

    def tell(event: Event) -> None:
        if event.kind in {Kind.FAILED, Kind.UNREACHABLE}:
            lost.add(event.node)
            sys.stderr.write(f"{event.node}  lost: {fleet.reason(event)}\n")
        else:
            show(nodes, event.node, event.answer.get("lines") or ())

    with interruptible() as stopping:
        played = ansible.play(
            "follow",
            replace(options, forks=max(options.forks, len(nodes))),
            nodes=nodes,
            variables={"dsv4_name": name, "dsv4_lines": lines, "dsv4_since_s": since_s},
            by_node={},
            tell=tell,
            stopping=stopping,
        )
        if not stopping():
            fleet.begun(played)
    return Exit.APPLY_FAILED if lost else Exit.FINE
