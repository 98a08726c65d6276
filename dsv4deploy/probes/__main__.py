"""Runs probes with this Python: `python -m dsv4deploy.probes OUT.json [NAME...]`."""

import argparse
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from dsv4deploy.probes.case import Ask, all_cases, chosen

_USAGE = 2
_USUAL = Ask()


def main(words: Sequence[str]) -> int:
    """Run what `words` ask for, and return the exit code: 0 when every case was asked, whatever it answered."""
    asked = _parsed(words)
    if asked.list:
        for case in all_cases():
            print(f"{case.name:34} {case.sentence}")
        return 0
    try:
        cases = chosen(asked.names)
    except KeyError as error:
        known = ", ".join(case.name for case in all_cases())
        print(f"there is no probe {error}; there are: {known}", file=sys.stderr)
        return _USAGE
    if importlib.util.find_spec("torch") is None:
        print(f"{sys.executable} has no torch", file=sys.stderr)
        return _USAGE
    from dsv4deploy.probes.run import run

    ask = Ask(
        device=asked.device,
        ranks=asked.ranks,
        limit_s=asked.limit,
        payloads=asked.payloads,
        pool_bytes=asked.pool_bytes,
        fault=asked.fault or "",
        kernels=tuple(asked.kernel),
    )
    document = json.dumps(run(cases, ask, lambda line: print(line, file=sys.stderr, flush=True)), indent=1)
    if asked.out == "-":
        print(document)
    else:
        Path(asked.out).write_text(document + "\n", encoding="utf-8")
    return 0


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dsv4deploy.probes", description=__doc__)
    parser.add_argument("out", metavar="OUT.json", help="where to write the document; - for standard output")
    parser.add_argument("names", metavar="NAME", nargs="*", help="probes, or what their names begin with; all without")
    parser.add_argument("--list", action="store_true", help="show the probes and run none")
    parser.add_argument("--device", choices=("cuda", "cpu"), default=_USUAL.device)
    parser.add_argument("--ranks", type=int, default=_USUAL.ranks, help="ranks of a collective over all")
    parser.add_argument("--limit", type=float, default=_USUAL.limit_s, metavar="S", help="seconds for each case")
    parser.add_argument("--payloads", type=_sizes, default=_USUAL.payloads, metavar="BYTES,...")
    parser.add_argument("--pool-bytes", type=int, default=_USUAL.pool_bytes, metavar="N")
    parser.add_argument("--fault", choices=("wrong", "hang", "die"), help="what the last rank does on purpose")
    parser.add_argument(
        "--kernel", action="append", default=[], metavar="FILE:FUNCTION", help="a patched kernel's trial; repeatable"
    )
    return parser.parse_args(words)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
