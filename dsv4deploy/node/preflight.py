"""What must hold before anything is touched, looked at as the user who will run the server."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from pathlib import Path
from typing import Any, Callable

from dsv4deploy.node import facts, gpus, kernels, procs, release
from dsv4deploy.node.files import digest
from dsv4deploy.node.place import Place, account
from dsv4deploy.node.switch import current_service, strangers, told
from dsv4deploy.node.trouble import Trouble

_MIN_SHM_GIB = 1.0


def preflight(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Look at everything the release of `manifest` needs.

    Answers `problems` (nothing is done while there are any) and `warnings`: each `{check, message, remedy}`; and
    `patches`, what laying them will take.
    """
    manifest = document["manifest"]
    patches, problems = _patches(place, manifest)
    for look in (_user, _supervisor, _ports, _cards, _engine, _folder):
        problems += look(place, manifest)
    if not any(one["check"] == "user" for one in problems):
        problems += _as_user(account(manifest), lambda: _paths(manifest))
    if not document.get("take_over"):
        problems += _foreign(manifest)
    return {"changed": False, "problems": problems, "warnings": _warnings(manifest), "patches": patches}


def _problem(check: str, message: str, remedy: str = "") -> list[dict[str, str]]:
    return [{"check": check, "message": message, "remedy": remedy}]


def _user(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    name = account(manifest)
    if not name:
        return []
    try:
        wanted = pwd.getpwnam(name)
    except KeyError:
        return _problem(
            "user",
            f"there is no user {name} on this node",
            f"create it: useradd --system {name}; or name another as service.user",
        )
    if os.geteuid() not in (0, wanted.pw_uid):
        own = pwd.getpwuid(os.geteuid()).pw_name
        return _problem("user", f"{own} cannot start a server as {name}", "use --become, or leave service.user out")
    return []


def _supervisor(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    if manifest["service"]["supervisor"] != "systemd":
        return []
    if not Path("/run/systemd/system").is_dir():
        return _problem("supervisor", "this node was not booted with systemd", "service: {supervisor: process}")
    if os.geteuid() != 0:
        return _problem("supervisor", "a systemd unit needs root", "use --become, or service: {supervisor: process}")
    return []


def _ports(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    return [
        one
        for port, pid in strangers(place, manifest).items()
        for one in _problem("ports", f"port {port} is taken by {told(pid)}", "stop it, or choose another server.port")
    ]


def _cards(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    devices = manifest.get("devices") or []
    if not devices or manifest["engine"].get("rehearsal"):
        return []
    cards = {card["index"]: card for card in gpus.cards() or []}
    missing = [index for index in devices if index not in cards]
    if missing:
        return _problem("cards", f"card {missing[0]} is not there ({len(cards)} cards are)", "see nvidia-smi")
    return _strangers(place, [cards[index] for index in devices])


def _strangers(place: Place, cards: list[dict[str, Any]]) -> list[dict[str, str]]:
    service = current_service(place)
    running = service.running() if service else None
    own = {one.pid for one in procs.family(running["pid"])} if running else set()
    names = {card["uuid"]: card["index"] for card in cards}
    found = []
    for user in gpus.users():
        if user["uuid"] in names and user["pid"] not in own:
            who = " ".join(procs.cmdline(user["pid"]))[:60] or "unknown"
            found += _problem(
                "cards",
                f"card {names[user['uuid']]} is used by pid {user['pid']} ({who}, {user['used_mib']} MiB)",
                "stop it, or choose other hardware.devices",
            )
    if not found:
        for index in gpus.wedged(list(names.values())):
            found += _problem(
                "cards",
                f"card {index} keeps its memory although no process uses it",
                f"reset it: nvidia-smi --gpu-reset -i {index}, or reboot the node",
            )
    return found


def _engine(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    engine = manifest["engine"]
    python = engine.get("python")
    if not python:
        return []
    if not os.path.exists(python):
        return _problem("engine", f"{python} is not there", "install the engine, or correct engine.venv")
    wanted = engine.get("version")
    if engine.get("rehearsal") or not wanted:
        return []
    have = facts.packages(python).get("engine_version")
    if have is None:
        return _problem("engine", f"the venv of {python} holds no sglang", f"{python} -m pip install sglang=={wanted}")
    if have.partition("+")[0] != str(wanted).partition("+")[0]:
        return _problem("engine", f"the venv holds sglang {have}; the profile pins {wanted}", "pin what is installed")
    return []


def _patches(place: Place, manifest: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """What laying the patches will take, and what stands in the way of it."""
    python = manifest["engine"].get("python")
    if not python or not os.path.exists(python):
        return [], []
    try:
        return kernels.foresee(manifest, place.release(manifest["digest"])), []
    except Trouble as trouble:
        return [], _problem("patches", trouble.message, trouble.remedy or "see `fits` in its patch.yaml")


def _folder(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    where = place.folder
    while not where.exists():
        where = where.parent
    if not os.access(str(where), os.W_OK) or os.statvfs(str(where)).f_flag & os.ST_RDONLY:
        return _problem("folder", f"{where} cannot be written to", "use --become, or dsv4_root for another folder")
    return []


def _foreign(manifest: dict[str, Any]) -> list[dict[str, str]]:
    found = [(path, "was not written by dsv4deploy") for path in release.foreign(manifest)]
    if manifest["service"]["supervisor"] == "systemd" and not found:
        found = _other_unit(manifest)
    return [
        one for path, why in found for one in _problem("files", f"{path} {why}", "look at it, then use --take-over")
    ]


def _other_unit(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    unit = f"{manifest['name']}.service"
    words = ["systemctl", "show", "--property", "FragmentPath", "--value", unit]
    try:
        path = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return []
    mine = {str(dest) for dest in release.outside(manifest)}
    return [(path, f"is already a unit named {unit}")] if path and path not in mine else []


def _paths(manifest: dict[str, Any]) -> list[dict[str, str]]:
    """Python and model, as the service user sees them; runs as that user."""
    found = []
    python = manifest["engine"].get("python")
    if python and os.path.exists(python) and not os.access(python, os.X_OK):
        found += _problem("paths", f"the service user may not run {python}", "give it the right to")
    model = (manifest.get("model") or {}).get("path")
    if model and os.path.isabs(model) and not manifest["engine"].get("rehearsal"):
        found += _model(Path(model))
    for path in paths_of(manifest):
        if path not in (python, model) and not os.access(path, os.R_OK):
            found += _problem("paths", f"the service user cannot read {path}", "correct the path or its rights")
    return found + _pinned(manifest.get("env_file") or {})


def _pinned(env_file: dict[str, Any]) -> list[dict[str, str]]:
    path, wanted = env_file.get("path"), env_file.get("sha256")
    if not path or not wanted or not os.path.exists(path) or digest(Path(path)) == wanted:
        return []
    return _problem("paths", f"{path} is not the file that nccl.env_file_sha256 pins", "look at it, then pin it again")


def paths_of(manifest: dict[str, Any]) -> list[str]:
    """Every absolute path of the node that the release reads."""
    secrets = {} if manifest["service"]["supervisor"] == "systemd" else manifest.get("secrets") or {}
    model = None if manifest["engine"].get("rehearsal") else (manifest.get("model") or {}).get("path")
    named = [
        manifest["engine"].get("python"),
        model,
        (manifest.get("env_file") or {}).get("path"),
        *secrets.values(),
    ]
    return [path for path in named if path and os.path.isabs(path)]


def _model(folder: Path) -> list[dict[str, str]]:
    if not folder.is_dir() or not os.access(str(folder), os.R_OK | os.X_OK):
        return _problem("model", f"the service user cannot read {folder}", "correct model.path or its rights")
    try:
        index = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))
        shards = sorted(set(index["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError):
        return []
    bad = [name for name in shards if not _whole(folder / name)]
    if not bad:
        return []
    return _problem(
        "model", f"{len(bad)} of {len(shards)} shards are missing or cut short, {bad[0]} first", "fetch it again"
    )


def _whole(shard: Path) -> bool:
    """Whether a safetensors file is as long as its header says."""
    try:
        with shard.open("rb") as source:
            size = int.from_bytes(source.read(8), "little")
            header = json.loads(source.read(size)) if size < 1 << 28 else {}
        ends = [one["data_offsets"][1] for name, one in header.items() if name != "__metadata__"]
        return shard.stat().st_size == 8 + size + max(ends, default=0)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _warnings(manifest: dict[str, Any]) -> list[dict[str, str]]:
    found = []
    shm = facts.shm_gib()
    if shm is not None and shm < _MIN_SHM_GIB and len(manifest.get("devices") or []) > 1:
        found += _problem(
            "shm", f"shared memory has {shm} GiB; NCCL needs more with several cards", "remount /dev/shm larger"
        )
    return found


def _as_user(name: str | None, look: Callable[[], list[dict[str, str]]]) -> list[dict[str, str]]:
    """Run `look` in a child that has become the user; its answer comes back through a pipe."""
    if not name or os.geteuid() != 0:
        return look()
    user = pwd.getpwnam(name)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.initgroups(name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        with os.fdopen(writer, "w") as answer:
            json.dump(look(), answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    found: list[dict[str, str]] = json.loads(text)
    return found
