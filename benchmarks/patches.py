"""How long a patched package takes, and how much room: laid, laid again, verified; CPU seconds of this process.

python benchmarks/patches.py [FILES]                    a made-up package of so many files, 1,000 if left out
python benchmarks/patches.py VENV/bin/python sglang     a package that is installed there
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
    """Patch one file of a package, and time."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        if len(sys.argv) > 2:  # noqa: PLR2004 (a Python and a package)
            python, package = Path(sys.argv[1]), sys.argv[2]
        else:
            python, package = environment(folder / "venv", int((sys.argv[1:] or ["1000"])[0])), "toy"
        release, manifest = bundle(folder / "release", python, package)
        timed("lay", lambda: kernels.install(release, manifest))
        told(kernels.install(release, manifest)["packages"][0], release / "shadow")
        before = stamps(release)
        timed("lay again", lambda: kernels.install(release, manifest))
        print(f"files touched by laying again: {sum(before[path] != now for path, now in stamps(release).items())}")
        timed("verify", lambda: kernels.status(release, manifest))


def told(package: dict[str, object], shadow: Path) -> None:
    """Tell files and room: names of a package are free, what is not linked elsewhere too takes blocks."""
    found = list(shadow.rglob("*"))
    whole = sum(one.lstat().st_blocks for one in found if one.is_file()) * 512
    own = sum(one.lstat().st_blocks for one in found if one.is_dir() or one.lstat().st_nlink == 1) * 512
    print(
        f"{package['files']} files {package['how']}, {whole / 2**20:.0f} MiB of which {own / 2**20:.1f} MiB are its own"
    )


def environment(folder: Path, count: int) -> Path:
    """A virtual environment with a package of `count` files of `BYTES` bytes."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    package = next((folder / "lib").glob("python*")) / "site-packages/toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for number in range(count - 1):
        (package / f"m{number}.py").write_text(f"# {number}\n" + "x" * BYTES)
    return folder / "bin/python"


def bundle(release: Path, python: Path, package: str) -> tuple[Path, dict[str, object]]:
    """A release with one patch that adds one file."""
    data = b"# patched\n"
    part = release / "patches/one/files/added.py"
    part.parent.mkdir(parents=True)
    part.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    entry = {
        "name": "one", "digest": digest, "kind": "overlay", "package": package, "distribution": package, "versions": None,
        "python": None, "requires": {}, "arch": [], "before": {}, "fuzz": 0, "toggle": None,
        "parts": [{"name": "files/added.py", "target": "added.py", "sha256": digest}],
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
