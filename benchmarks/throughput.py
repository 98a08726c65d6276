"""How many profiles one process validates a second, on one core: load, resolve, lower, check, all rules.

Usage: python benchmarks/throughput.py [COUNT]. Bar: 300 a second.
"""

import gc
import sys
import time
from pathlib import Path

from dsv4deploy.__main__ import SELDOM
from dsv4deploy.cli.house import knowledge
from dsv4deploy.flow import Asked, looked_at
from dsv4deploy.rim.texts import Files

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Validate the examples, each time with another port, so that nothing can be remembered whole."""
    gc.set_threshold(SELDOM)  # as the command line does
    count = int(sys.argv[1]) if sys.argv[1:] else 1000
    examples = sorted(str(path) for path in ROOT.glob("examples/*/profile.yaml"))
    known, files = knowledge(), Files()
    looked_at(files, known, Asked(examples[0]))
    begin = time.process_time()
    for number in range(count):
        looked_at(files, known, Asked(examples[number % len(examples)], sets=(f"server.port={20_000 + number}",)))
    spent = time.process_time() - begin
    print(f"{count} profiles in {spent:.2f} s of CPU: {count / spent:.0f} a second")


if __name__ == "__main__":
    main()
