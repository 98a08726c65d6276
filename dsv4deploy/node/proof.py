"""Proofs that patched code is what runs: its module comes from the patched place, and the running server says so."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from pathlib import Path
from typing import Any, Mapping, Sequence

from dsv4deploy.node import files
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.verbs import CHECKED_LINES

_LIMIT_S = 300
_SLACK_BYTES = 1 << 16
# As serve.sh does it: the node's own file, then ours, then the patched packages; in the release folder.
_START = """
env_file=$1 python=$2 shadow=$3 code=$4 asked=$5
[[ -n "$env_file" ]] && source "$env_file"
source ./nccl.env || exit 78
[[ -n "$shadow" ]] && export PYTHONPATH="$shadow${PYTHONPATH:+:$PYTHONPATH}"
exec "$python" -c "$code" "$asked"
"""
_PROBE = r"""
import ast, importlib, json, os, sys
from importlib import util
def reads(path, name):
    try:
        data = open(path, "rb").read()
        if name.encode() not in data or path.endswith(".so"):
            return name.encode() in data
        tree = ast.parse(data)
    except (OSError, SyntaxError):
        return False
    # As text, or as SGLang declares its own: `NAME = EnvBool(False)` in a class, read as `envs.NAME`.
    said = (getattr(node, part, None) for node in ast.walk(tree) for part in ("value", "id", "attr"))
    return any(isinstance(one, str) and one == name for one in said)
def below(folder):
    for here, _, names in os.walk(folder):
        yield from (os.path.join(here, name) for name in names)
answers = []
for one in json.loads(sys.argv[1]):
    said = {"origin": None, "symbol": None, "reader": None, "error": None}
    try:
        if one["module"]:
            found = importlib.import_module(one["module"])
            said["origin"] = getattr(found, "__file__", None)
            if one["symbol"]:
                for step in one["symbol"].split("."):
                    found = getattr(found, step, None)
                said["symbol"] = found is not None
        else:
            said["origin"] = util.find_spec(one["package"]).origin
    except BaseException as error:
        said["error"] = "%s: %s" % (type(error).__name__, error)
    if one["toggle"]:
        files = one["files"] if one["touches"] else below(one["folder"])
        said["reader"] = any(reads(path, one["toggle"]) for path in files if path.endswith((".py", ".so")))
    answers.append(said)
sys.stdout.write("\n" + json.dumps(answers) + "\n")
"""


def imported(release: Path, manifest: dict[str, Any], folders: Mapping[str, Path], shadow: Path | None) -> list[Any]:
    """What the interpreter imports when it is started as the service starts it: one answer for each proof.

    `folders` says where each patched package must come from. An answer is `ok` if the module comes from there, has the
    symbol, and a patched file (of a wheel: any of its package) reads the toggle; `told` says in words what is wrong.

    Raises:
        Trouble: the interpreter does not run.
    """
    proofs = manifest.get("proofs") or []
    asked = []
    for one in proofs:
        folder = folders[one["package"]]
        paths = [str(folder.parent / path) for path in one["touches"]]
        asked.append({**one, "folder": str(folder), "files": paths})
    answers = _run(release, manifest, shadow, json.dumps(asked))
    return [_judged(proof, said, folders[proof["package"]]) for proof, said in zip(proofs, answers)]


def active(
    proofs: Sequence[Mapping[str, Any]], lines: Sequence[str] | None, info: Mapping[str, Any] | None
) -> list[Any]:
    """What the running server shows of each patch: `active` is None where nothing is declared or could be asked.

    `lines` is the log of this start, `info` what `/server_info` answered; None if they could not be had.
    """
    answers = []
    for one in proofs:
        said: list[tuple[bool | None, str]] = []
        if one.get("log"):
            said.append(_line(one["log"], lines))
        if one.get("server_info"):
            said.append(_field(one["server_info"], info))
        known = [good for good, _ in said if good is not None]
        told = "; ".join(words for _, words in said) or "unknown: the patch declares no running proof"
        answers.append({"patch": one["patch"], "active": all(known) if known else None, "told": told})
    return answers


def _line(wanted: str, lines: Sequence[str] | None) -> tuple[bool | None, str]:
    if lines is None:
        return None, "unknown: there is no log to read from here"
    found = next((line for line in lines if wanted in line), None)
    if found is None and _is_cut(lines):
        return None, f"unknown: the last {len(lines)} lines do not say `{wanted}`, and the log is longer than that"
    return found is not None, found or f"the log does not say `{wanted}`"


def _is_cut(lines: Sequence[str]) -> bool:
    """Whether the log may go back further than these lines, of which no more are ever read."""
    return len(lines) >= CHECKED_LINES or sum(len(line) + 1 for line in lines) > files.TAIL_BYTES - _SLACK_BYTES


def _field(wanted: Mapping[str, Any], info: Mapping[str, Any] | None) -> tuple[bool | None, str]:
    name = wanted["field"]
    if info is None:
        return None, f"unknown: /server_info was not asked for {name}"
    has = info.get(name)
    good = has not in (None, False) if wanted.get("value") is None else str(has) == wanted["value"]
    return good, f"/server_info says {name}: {has}"


def _judged(proof: Mapping[str, Any], said: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    what = proof["module"] or proof["package"]
    told = ""
    if said["error"]:
        told = f"{what} cannot be imported: {said['error']}"
    elif not str(said["origin"]).startswith(f"{folder}{os.sep}"):
        told = f"{what} comes from {said['origin']}, not from {folder}"
    elif said["symbol"] is False:
        told = f"{what} has no {proof['symbol']}"
    elif said["reader"] is False:
        told = f"no patched file reads {proof['toggle']}"
    return {"patch": proof["patch"], "ok": not told, "told": told or f"{what} comes from {said['origin']}", **said}


def _run(release: Path, manifest: dict[str, Any], shadow: Path | None, asked: str) -> list[Any]:
    python = manifest["engine"]["python"]
    env_file = (manifest.get("env_file") or {}).get("path") or ""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    # As the service's user, so that no cache of the engine is left to root.
    user = _account(manifest)
    if user is not None:
        kept["HOME"] = user.pw_dir
    words = ["bash", "-c", _START, "bash", env_file, python, str(shadow or ""), _PROBE, asked]
    try:
        done = subprocess.run(
            words,
            cwd=str(release),
            env={**kept, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=False,
            preexec_fn=None if user is None else lambda: _become(user),
        )
    except subprocess.TimeoutExpired:
        raise Trouble("system", f"{python} imported the patched modules for more than {_LIMIT_S} s") from None
    try:
        answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        told = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
        raise Trouble("system", f"{python} failed: {told}") from None
    return answers


def _account(manifest: dict[str, Any]) -> pwd.struct_passwd | None:
    """The service's user, if we can be it; None to stay who we are."""
    name = (manifest.get("service") or {}).get("user")
    if os.geteuid() != 0 or not name:
        return None
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _become(user: pwd.struct_passwd) -> None:
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
