"""How long a patched package of 1,000 files takes: laid, laid again, verified; CPU seconds of this process.

python benchmarks/patches.py [FILES]
"""

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dsv4deploy.node import kernels

BYTES = 20_000


def main() -> None:
    """Make a package of so many files, patch one of them, and time."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = environment(folder / "venv", count)
        release, manifest = bundle(folder / "release", python)
        timed(f"lay {count} files", lambda: kernels.install(release, manifest))
        before = stamps(release)
        timed("lay again", lambda: kernels.install(release, manifest))
        print(f"files touched by laying again: {sum(before[path] != now for path, now in stamps(release).items())}")
        timed(f"verify {count} files", lambda: kernels.status(release, manifest))


def environment(folder: Path, count: int) -> Path:
    """A virtual environment with a package of `count` files of `BYTES` bytes."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    package = next((folder / "lib").glob("python*")) / "site-packages/toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for number in range(count - 1):
        (package / f"m{number}.py").write_text(f"# {number}\n" + "x" * BYTES)
    return folder / "bin/python"


def bundle(release: Path, python: Path) -> tuple[Path, dict[str, object]]:
    """A release with one patch of one file."""
    data = b"# patched\n"
    part = release / "patches/one/files/m0.py"
    part.parent.mkdir(parents=True)
    part.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    entry = {
        "name": "one", "digest": digest, "kind": "overlay", "package": "toy", "distribution": "toy", "versions": None,
        "python": None, "requires": {}, "arch": [], "before": {}, "fuzz": 0, "toggle": None,
        "parts": [{"name": "files/m0.py", "target": "m0.py", "sha256": digest}],
    }  # fmt: skip
    return release, json.loads(json.dumps({"name": "toy", "engine": {"python": str(python)}, "patches": [entry]}))


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of every file."""
    return {str(one): (one.lstat().st_ino, one.lstat().st_mtime_ns) for one in folder.rglob("*")}


def timed(what: str, act: Callable[[], object]) -> None:
    """Run and tell the seconds."""
    began, cpu = time.perf_counter(), time.process_time()
    act()
    print(f"{what}: {time.process_time() - cpu:.3f} s of CPU, {time.perf_counter() - began:.3f} s")


if __name__ == "__main__":
    main()
