"""What must hold before anything is touched, looked at as the user who will run the server."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path
from typing import Any

from dsv4deploy.node import facts, gpus, kernels, model_folder, procs, release
from dsv4deploy.node.files import digest
from dsv4deploy.node.place import Place, account
from dsv4deploy.node.supervisor import current_service
from dsv4deploy.node.switch import strangers, told
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.user import as_user

_MIN_SHM_GIB = 1.0


def preflight(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Look at everything the release of `manifest` needs.

    Answers `problems` (nothing is done while there are any) and `warnings`: each `{check, message, remedy}`; and
    `model`: what the model folder tells, None if it tells nothing; `patches`: what laying them will take.
    """
    manifest = document["manifest"]
    patches, problems = _patches(place, manifest)
    for look in (_user, _supervisor, _ports, _cards, _engine, _folder):
        problems += look(place, manifest)
    seen: dict[str, Any] = {"problems": [], "model": None}
    if not any(one["check"] == "user" for one in problems):
        seen = as_user(account(manifest), lambda: _as_the_server(manifest))
    problems += seen["problems"]
    if not document.get("take_over"):
        problems += _foreign(manifest)
    found = {"problems": problems, "warnings": _warnings(manifest), "model": seen["model"], "patches": patches}
    return {"changed": False, **found}


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


def _as_the_server(manifest: dict[str, Any]) -> dict[str, Any]:
    """Python, model and every other path, as the service user sees them; runs as that user."""
    found = []
    python = manifest["engine"].get("python")
    if python and os.path.exists(python) and not os.access(python, os.X_OK):
        found += _problem("paths", f"the service user may not run {python}", "give it the right to")
    model = (manifest.get("model") or {}).get("path") or ""
    read = model_folder.read(Path(model)) if os.path.isabs(model) else None
    if os.path.isabs(model) and not manifest["engine"].get("rehearsal"):
        for message, remedy in model_folder.problems(Path(model), read):
            found += _problem("model", message, remedy)
    for path in paths_of(manifest):
        if path not in (python, model) and not os.access(path, os.R_OK):
            found += _problem("paths", f"the service user cannot read {path}", "correct the path or its rights")
    return {"problems": found + _pinned(manifest.get("env_file") or {}), "model": read}


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


def _warnings(manifest: dict[str, Any]) -> list[dict[str, str]]:
    found = []
    shm = facts.shm_gib()
    if shm is not None and shm < _MIN_SHM_GIB and len(manifest.get("devices") or []) > 1:
        found += _problem(
            "shm", f"shared memory has {shm} GiB; NCCL needs more with several cards", "remount /dev/shm larger"
        )
    return found
