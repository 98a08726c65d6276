"""How long the command line takes to start, as a ratio to `python -c "import pydantic, yaml"` in the same run.

Usage: python benchmarks/startup.py [RUNS]. Bars: --version 1.3, --help 2, validate and render of the first example 4.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROFILE = str(ROOT / "examples/dsv4-flash-nvfp4-tp4/profile.yaml")
BASE = ["-c", "import pydantic, yaml"]
COMMANDS = {
    "--version": (["-m", "dsv4deploy", "--version"], 1.3),
    "--help": (["-m", "dsv4deploy", "--help"], 2.0),
    "validate": (["-m", "dsv4deploy", "validate", PROFILE], 4.0),
    "render": (["-m", "dsv4deploy", "render", PROFILE, "--stdout", "serve.sh"], 4.0),
}


# A package that was installed has its byte code, whatever the shell says about writing any; the first run makes ours.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(words: list[str]) -> float:
    """Wall time of one run."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    """Time everything in turn, so that a slow moment of the machine hits all alike."""
    runs = int(sys.argv[1]) if sys.argv[1:] else 15
    times: dict[str, list[float]] = {name: [] for name in ("base", *COMMANDS)}
    for words in (BASE, *(words for words, _ in COMMANDS.values())):
        seconds(words)
    for _ in range(runs):
        times["base"].append(seconds(BASE))
        for name, (words, _) in COMMANDS.items():
            times[name].append(seconds(words))
    base = statistics.median(times["base"])
    print(f"base      {1000 * base:6.1f} ms")
    for name, (_, bar) in COMMANDS.items():
        median = statistics.median(times[name])
        print(f"{name:<9} {1000 * median:6.1f} ms  {median / base:4.2f}x of at most {bar}x")


if __name__ == "__main__":
    main()
