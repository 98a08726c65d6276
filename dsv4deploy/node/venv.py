"""Asks the interpreter of a virtual environment where its packages are, without changing a byte in it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Collection, Mapping, NamedTuple

from dsv4deploy.node.trouble import Trouble

_LIMIT_S = 60
# Finding a package imports nothing of it. RECORD is that of the wheel; an editable install has none for its sources.
_PROBE = r"""
import base64, json, platform, sys, sysconfig
from importlib import metadata, util
asked = json.loads(sys.argv[1])
def found(package, distribution):
    spec = util.find_spec(package)
    if spec is None:
        return None
    answer = {"origin": spec.origin, "folders": list(spec.submodule_search_locations or ()), "version": None, "record": {}}
    try:
        dist = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return answer
    answer["version"] = dist.version
    answer["editable"] = '"editable": true' in (dist.read_text("direct_url.json") or "")
    for row in (dist.read_text("RECORD") or "").splitlines():
        path, _, rest = row.partition(",sha256=")
        digest = rest.split(",")[0]
        if digest and path.startswith(package + "/"):
            answer["record"][path] = base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()
    return answer
def version(distribution):
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
print("\n" + json.dumps({
    "packages": {package: found(package, distribution) for package, distribution in asked["packages"].items()},
    "versions": {name: version(name) for name in asked["versions"]},
    "python": platform.python_version(), "implementation": sys.implementation.name,
    "soabi": sysconfig.get_config_var("SOABI") or "", "platform": sysconfig.get_platform(),
    "libc": list(platform.libc_ver()), "prefix": sys.prefix,
}))
"""


class Package(NamedTuple):
    """One package as an interpreter finds it: its folder, the version of its distribution, digests of its RECORD."""

    name: str
    folder: Path
    version: str | None
    record: Mapping[str, str]
    editable: bool


class Venv(NamedTuple):
    """What an interpreter says of itself and of the packages that were asked for."""

    python: str
    version: str
    implementation: str
    soabi: str
    platform: str
    libc: list[str]
    prefix: Path
    packages: Mapping[str, Package]
    versions: Mapping[str, str | None]


def ask(
    python: str, packages: Mapping[str, str], versions: list[str] | None = None, may_lack: Collection[str] = ()
) -> Venv:
    """Where the interpreter `python` finds `packages` (import name to distribution), and the `versions` of others.

    Of packages in `may_lack` that are not there the answer says nothing.

    Raises:
        Trouble: it does not run, or another package is not there, or one is no ordinary one.
    """
    out = run(python, _PROBE, [json.dumps({"packages": dict(packages), "versions": versions or []})])
    found = {
        name: _package(name, said, python)
        for name, said in out["packages"].items()
        if said is not None or name not in may_lack
    }
    return Venv(
        python,
        out["python"],
        out["implementation"],
        out["soabi"],
        out["platform"],
        out["libc"],
        Path(out["prefix"]),
        found,
        out["versions"],
    )


def run(
    python: str, code: str, words: list[str], path: list[str] | None = None, limit_s: float = _LIMIT_S
) -> dict[str, Any]:
    """The JSON on the last line that `code` prints; `path` stands first in `PYTHONPATH`, nothing else does.

    Raises:
        Trouble: the interpreter does not run, or says nothing.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(path or [])}
    try:
        done = subprocess.run(
            [python, "-c", code, *words],
            capture_output=True,
            cwd="/",
            env=environment,
            timeout=limit_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise Trouble("system", f"{python} cannot be run: {error.strerror}", "name the venv in engine.venv") from None
    except subprocess.TimeoutExpired:
        raise Trouble("system", f"{python} gave no answer within {limit_s:.0f} s") from None
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        told = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
        raise Trouble("system", f"{python} failed: {told}") from None
    return answer


def _package(name: str, said: dict[str, Any] | None, python: str) -> Package:
    if said is None:
        raise Trouble("patch-misfit", f"{python} finds no package {name}", "install it, or correct engine.venv")
    if len(said["folders"]) != 1 or not said["origin"] or said["origin"] == "built-in":
        raise Trouble("patch-misfit", f"{name} is no ordinary package of {python}: a patch needs one folder")
    return Package(name, Path(said["folders"][0]), said["version"], said["record"], bool(said.get("editable")))
