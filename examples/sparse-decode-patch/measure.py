"""Lays the patch over the package, proves it, measures it on a GPU, and undoes it; claims nothing about any model.

    python examples/sparse-decode-patch/measure.py --json result.json
    python examples/sparse-decode-patch/measure.py --reference      (no GPU: the float64 reference against plain loops)

Exits with 0 if all is right, 1 if something is not, 3 without a GPU.
"""

import argparse
import hashlib
import importlib.util
import json
import math
import os
import site
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from dsv4deploy.node import kernels, proof  # noqa: E402 (from this very checkout)

PATCH, PACKAGE = "mma-decode", "sparse_decode"
NO_GPU = 3
# bfloat16 keeps 8 bits: half of 2^-8 is 0.2 %; weights and output are rounded once each.
RELATIVE, LARGEST = 0.01, 0.03
EXACT = 1e-6
LIMIT_S = 120


def main() -> int:
    """Do all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--reference", action="store_true", help="only check the reference, on the CPU")
    asked = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("this needs PyTorch with CUDA and a GPU: there is no torch in this Python")
        return NO_GPU
    if asked.reference:
        return check_reference()
    if not torch.cuda.is_available():
        print("this needs a GPU: torch sees none (--reference checks the reference on the CPU)")
        return NO_GPU
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sparse-decode-") as folder:
        result = measured(Path(folder), Path(torch.__file__).parents[1], torch.cuda.get_device_capability())
    result["seconds"] = round(time.monotonic() - began, 1)
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=2) + "\n")
    told(result)
    return 0 if result["fine"] else 1


def measured(folder: Path, libraries: Path, capability: tuple[int, int]) -> dict:
    """Install, prove, run with and without, revert."""
    python = environment(folder / "venv", libraries)
    release, manifest = bundle(folder / "release", python, capability)
    before = fingerprint(HERE / "package")
    laid = kernels.install(release, manifest)
    again = kernels.install(release, manifest)
    proved = kernels.verify(release, manifest)
    shadow = release / "shadow"
    runs = {
        "stock package, toggle 1": run(python, None, "1", "check", folder),
        "patched, toggle 0": run(python, shadow, "0", "check", folder),
        "patched, toggle 1": run(python, shadow, "1", "check", folder),
        "autotune inside capture": run(python, shadow, "1", "capture", folder),
        "no autotune in capture": run(python, shadow, "0", "capture", folder),
        "capture after a call": run(python, shadow, "1", "warmed", folder),
    }
    active = proof.active(manifest["proofs"], runs["patched, toggle 1"].pop("log"), None)
    for one in runs.values():
        one.pop("log", None)
    reverted = kernels.revert(release, manifest)
    result = {
        "schema": "sparse-decode/1",
        "install": laid,
        "second_install_changed": again["changed"],
        "imports": proved["imports"],
        "active": active,
        "runs": runs,
        "reverted": reverted["changed"],
        "package_untouched": fingerprint(HERE / "package") == before,
    }
    times = [runs[name].get("microseconds") for name in ("patched, toggle 0", "patched, toggle 1")]
    result["speed_up"] = round(times[0] / times[1], 2) if all(times) else None
    result["wrong"] = wrong(result)
    result["fine"] = not result["wrong"]
    return result


def wrong(result: dict) -> list[str]:
    """Everything that is not as it should be."""
    runs = result["runs"]
    found = [f"{name}: {one['failed']}" for name, one in runs.items() if one.get("failed")]
    found += [one["told"] for one in result["imports"] if not one["ok"]]
    found += [one["told"] for one in result["active"] if one["active"] is not True]
    wanted = {"stock package, toggle 1": "simt", "patched, toggle 0": "simt", "patched, toggle 1": "mma"}
    for name, kernel in wanted.items():
        if runs[name].get("kernel") != kernel:
            found.append(f"{name} ran {runs[name].get('kernel')}, not {kernel}")
        for one in runs[name].get("errors", []):
            shape = f"{one['batch']}x{one['heads']}x{one['chosen']}"
            exact = one["relative"] < RELATIVE and one["largest"] < LARGEST
            if not (one["finite"] and exact):
                found.append(f"{name} at {shape}: relative error {one['relative']:.4f}, largest {one['largest']:.4f}")
    if not runs["capture after a call"].get("captured"):
        found.append(f"capture after a call failed: {runs['capture after a call'].get('error')}")
    checks = {
        "the second install changed something": result["second_install_changed"],
        "nothing was reverted": not result["reverted"],
        "the package was changed": not result["package_untouched"],
    }
    return found + [told for told, bad in checks.items() if bad]


def environment(folder: Path, libraries: Path) -> str:
    """A virtual environment that sees PyTorch, and has the package as an editable install would leave it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    known = [str(libraries), *site.getsitepackages(), site.getusersitepackages(), *sys.path]
    paths = dict.fromkeys(one for one in known if one.endswith("-packages") and Path(one).is_dir())
    (packages / "__editable__.sparse_decode.pth").write_text("\n".join([str(HERE / "package"), *paths]) + "\n")
    info = packages / "sparse_decode-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sparse-decode\nVersion: 1.0.0\n")
    return str(folder / "bin/python")


def bundle(release: Path, python: str, capability: tuple[int, int]) -> tuple[Path, dict]:
    """A release with the patch, as a rendered bundle has it."""
    source = HERE / "patches" / PATCH / "files/decode.py"
    name = "files/decode.py"
    target = release / "patches" / PATCH / name
    target.parent.mkdir(parents=True)
    target.write_bytes(source.read_bytes())
    (release / "nccl.env").write_text("")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    stock = hashlib.sha256((HERE / "package/sparse_decode/decode.py").read_bytes()).hexdigest()
    manifest = {
        "name": "sparse-decode",
        "engine": {"python": python},
        "patching": {"in_place": False, "arch": f"sm_{capability[0]}{capability[1]}"},
        "patches": [
            {
                "name": PATCH,
                "digest": digest,
                "kind": "overlay",
                "package": PACKAGE,
                "distribution": "sparse-decode",
                "versions": ">=1.0,<1.1",
                "python": ">=3.10",
                "requires": {},
                "arch": [],
                "before": {"decode.py": stock},
                "fuzz": 0,
                "toggle": "SPARSE_DECODE_MMA",
                "parts": [{"name": name, "target": "decode.py", "sha256": digest}],
            }
        ],
        "proofs": [
            {
                "patch": PATCH,
                "package": PACKAGE,
                "module": "sparse_decode.decode",
                "symbol": "_mma",
                "toggle": "SPARSE_DECODE_MMA",
                "touches": ["sparse_decode/decode.py"],
                "log": "sparse_decode: tensor-core kernel",
                "server_info": None,
            }
        ],
    }
    return release, manifest


def run(python: str, shadow: Path | None, toggle: str, what: str, folder: Path) -> dict:
    """One worker; what it found, or how it failed. Patched and stock code never share compiled kernels."""
    own = folder / "triton" / ("patched" if shadow else "stock")
    variables = {
        **os.environ,
        "PYTHONPATH": str(shadow or ""),
        "SPARSE_DECODE_MMA": toggle,
        "TRITON_CACHE_DIR": str(own),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    words = [python, str(HERE / "worker.py"), what]
    try:
        done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"no result within {LIMIT_S} s", "log": []}
    lines = done.stdout.splitlines()
    answers = [line for line in lines if line.startswith("{")]
    if not answers:
        told = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        return {"failed": f"exit {done.returncode}: {told[0]}", "log": lines}
    return {**json.loads(answers[-1]), "log": lines}


def fingerprint(folder: Path) -> dict[str, str]:
    """The digest of every file, compiled ones aside."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }


def told(result: dict) -> None:
    """Print the result for a person."""
    runs = result["runs"]
    one = runs["patched, toggle 1"]
    print(f"card: {one.get('card')}, torch {one.get('torch')}, triton {one.get('triton')}")
    for name, run_ in runs.items():
        if run_.get("failed"):
            print(f"{name:26} failed: {run_['failed']}")
        elif "microseconds" in run_:
            worst = max(e["relative"] for e in run_["errors"])
            print(f"{name:26} {run_['kernel']:5} {run_['microseconds']:9.1f} us a call, relative error {worst:.4f}")
        else:
            captured = f"captured, relative error {run_['relative']:.4f}" if run_["captured"] else run_["error"]
            print(f"{name:26} {captured}")
    print(f"speed-up of the tensor-core kernel over the SIMT kernel: {result['speed_up']}")
    print("fine" if result["fine"] else "\n".join(["not fine:", *result["wrong"]]))


def check_reference() -> int:
    """The reference against loops over single numbers, on the CPU."""
    import torch

    spec = importlib.util.spec_from_file_location("reference", HERE / "package/sparse_decode/reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(7)
    q, kv = torch.randn(2, 3, 6), torch.randn(9, 6)
    indices = torch.tensor([[0, 5, -1, 8], [2, 2, 7, -1]], dtype=torch.int32)
    got = module.reference(q, kv, indices, 0.5, 4)
    worst = 0.0
    for b in range(2):
        for h in range(3):
            tokens = [int(t) for t in indices[b] if t >= 0]
            scores = [0.5 * sum(float(x) * float(y) for x, y in zip(q[b, h], kv[t], strict=True)) for t in tokens]
            weights = [math.exp(s - max(scores)) for s in scores]
            for d in range(4):
                wanted = sum(w * float(kv[t, d]) for w, t in zip(weights, tokens, strict=True)) / sum(weights)
                worst = max(worst, abs(wanted - float(got[b, h, d])))
    print(f"largest difference of the reference from plain loops: {worst:.2e}")
    return 0 if worst < EXACT else 1


if __name__ == "__main__":
    sys.exit(main())
