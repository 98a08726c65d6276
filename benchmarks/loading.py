"""How long loading takes, step by step: `python benchmarks/loading.py [PROFILE]`."""

import sys
import timeit
from pathlib import Path

from dsv4deploy.flow import chain
from dsv4deploy.model.profile import Profile
from dsv4deploy.rim.texts import Files
from dsv4deploy.source.document import load
from dsv4deploy.source.nodes import PURE
from dsv4deploy.source.validate import validate
from dsv4deploy.stages.resolve import resolve

EXAMPLE = Path(__file__).parents[1] / "examples/dsv4-flash-nvfp4-tp4/profile.yaml"


def main(path: str) -> None:
    data = Path(path).read_bytes()
    documents = chain(Files(), path)
    merged = resolve(documents)
    steps = {
        "load": lambda: load(data, path),
        "load, without C": lambda: load(data, path, PURE),
        "resolve": lambda: resolve(documents),
        "validate": lambda: validate(merged, Profile),
    }
    print(f"{path}: {len(data.splitlines())} lines")
    for name, step in steps.items():
        best = min(timeit.repeat(step, number=50, repeat=5)) / 50
        print(f"{name:16} {best * 1000:7.3f} ms")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(EXAMPLE))
