"""Launch the rehearsal server: `python -m sglang.launch_server`, as with the engine that it stands in for."""

from __future__ import annotations

import sys

from . import log
from .leader import launch
from .parser import parse
from .record import behaves


def main() -> None:
    """Start, serve, and leave with the exit code of the pretended version."""
    if behaves("warns_module_start"):
        # Written rather than warned: the shown source line belongs to another file.
        log.raw(
            f"{__file__}:71: UserWarning: 'python -m sglang.launch_server' is still supported, but 'sglang serve' is the "
            "recommended entrypoint.\n  Example: sglang serve --model-path <model> [options]\n"
            "  warnings.warn(\n"
        )
    launch(parse(sys.argv[1:]), sys.argv)


def serve() -> None:
    """`sglang serve ...`: the same without the warning."""
    if sys.argv[1:2] != ["serve"]:
        raise SystemExit("usage: sglang serve [options] (a rehearsal knows no other command)")
    launch(parse(sys.argv[2:]), sys.argv)


if __name__ == "__main__":
    main()
