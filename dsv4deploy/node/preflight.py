"""What must hold before anything is touched, looked at as the user who will run the server."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path
from typing import Any

from dsv4deploy.node import checksums, facts, gpus, inplace, kernels, model_folder, neighbours, pins, procs, release
from dsv4deploy.node.files import digest
from dsv4deploy.node.place import Place, account, places
from dsv4deploy.node.supervisor import current_service
from dsv4deploy.node.switch import strangers, told
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.user import as_user

_MIN_SHM_GIB = 1.0
_MIN_CACHE_GIB = 2.0
_MIN_FREE_KIB = 4096  # a release, what going back needs, and their temporary copies
_SHOWN = 3
_NOTHING: dict[str, Any] = {"problems": [], "warnings": [], "notes": []}


def preflight(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Look at everything the release of `manifest` needs.

    Answers `problems` (nothing is done while there are any) and `warnings`: each `{check, message, remedy}`; `notes`:
    what was found good though it took long; `model`: what the model folder tells, None if it tells nothing; `patches`:
    what laying them will take. With `checksums` in the request every file of the model is read.
    """
    manifest = document["manifest"]
    patches, problems = _patches(place, manifest)
    for look in (_user, _supervisor, _secrets, _ports, _cards, _running_neighbours, _engine, _folder):
        problems += look(place, manifest)
    seen = {**_NOTHING, "model": None}
    if not any(one["check"] == "user" for one in problems):
        seen = as_user(account(manifest), lambda: _as_the_server(manifest, bool(document.get("checksums"))))
    problems += seen["problems"]
    if not document.get("take_over"):
        problems += _foreign(manifest)
    found = {**seen, "problems": problems, "warnings": seen["warnings"] + _warnings(place, manifest)}
    return {"changed": False, **found, "patches": patches}


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


def _secrets(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    """Under systemd it is root who reads the keys; otherwise they are among the paths of the service user."""
    keys = (manifest.get("secrets") or {}) if manifest["service"]["supervisor"] == "systemd" else {}
    bad = [path for path in keys.values() if os.geteuid() == 0 and not os.path.isfile(path)]
    return [
        one for path in bad for one in _problem("paths", f"there is no key file {path}", "create it, for root alone")
    ]


def _ports(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {**one, "other": _owner(place, pid)}
        for port, pid in strangers(place, manifest).items()
        for one in _problem("ports", f"port {port} is taken by {told(pid)}", "stop it, or choose another server.port")
    ]


def _owner(place: Place, pid: int | None) -> str:
    """The other deployment of ours that a process belongs to; empty if it is none."""
    for other in places(place.folder.parent):
        try:
            service = current_service(other)
            running = service.running() if service else None
        except Trouble:
            continue
        if running and pid in {one.pid for one in procs.family(running["pid"])}:
            return other.name
    return ""


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
            used = f"card {names[user['uuid']]} is used by pid {user['pid']} ({who}, {user['used_mib']} MiB)"
            (problem,) = _problem("cards", used, "stop it, or choose other hardware.devices")
            found.append({**problem, "other": _owner(place, user["pid"])})
    if not found:
        for index in gpus.wedged(list(names.values())):
            found += _problem(
                "cards",
                f"card {index} keeps its memory although no process uses it",
                f"reset it: nvidia-smi --gpu-reset -i {index}, or reboot the node",
            )
    return found


def _neighbours(place: Place, manifest: dict[str, Any], *, running: bool) -> list[dict[str, str]]:
    found = neighbours.neighbours(place, manifest, running=running)
    return [
        {**problem, "other": one["other"]}
        for one in found
        for problem in _problem("neighbours", one["told"], one["remedy"])
    ]


def _running_neighbours(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    return _neighbours(place, manifest, running=True)


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
    before = inplace.before_wheels(inplace.prefix_of(python)).get("sglang")
    have = facts.packages(python).get("engine_version") if before is None else next(iter(before), None)
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
    free = _free_kib(where)
    if free < _MIN_FREE_KIB:
        return _problem("disk", f"{where} has {free} KiB free; a release needs {_MIN_FREE_KIB}", "free some space")
    return []


def _free_kib(where: Path) -> int:
    disk = os.statvfs(str(where))
    return disk.f_bavail * disk.f_frsize >> 10


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


def _as_the_server(manifest: dict[str, Any], in_full: bool) -> dict[str, Any]:
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
    found += _pinned(manifest.get("env_file") or {})
    summed = _summed(Path(model)) if in_full and read and not found else {**_NOTHING}
    return {**summed, "problems": found + summed["problems"], "model": read}


def _summed(model: Path) -> dict[str, Any]:
    """What the checksums of the model say."""
    told = checksums.compare(model)
    wrong, unknown, right = told["wrong"], told["unknown"], told["right"]
    return {
        "problems": _problem(
            "checksums", f"the sha256 of {_few(wrong)} of {model} is not the one that came with it", "fetch it again"
        )
        if wrong
        else [],
        "warnings": _problem(
            "checksums", f"nothing says which sha256 {_few(unknown)} of {model} should have", "SHA256SUMS would"
        )
        if unknown
        else [],
        "notes": [f"{right} files of {model} have their sha256"] if right else [],
    }


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return f"{len(names)} file{'s' if len(names) > 1 else ''} ({shown})"


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


def _warnings(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    found = _neighbours(place, manifest, running=False)
    shm = facts.shm_gib()
    if shm is not None and shm < _MIN_SHM_GIB and len(manifest.get("devices") or []) > 1:
        found += _problem(
            "shm", f"shared memory has {shm} GiB; NCCL needs more with several cards", "remount /dev/shm larger"
        )
    return found + ([] if manifest["engine"].get("rehearsal") else _beside(manifest)) + _left_behind(manifest)


def _beside(manifest: dict[str, Any]) -> list[dict[str, str]]:
    """What a real engine stands on: the packages that it pins, room for the kernels that it compiles."""
    found = []
    python = manifest["engine"].get("python")
    unmet = pins.unmet(python) if python else []
    if unmet:
        more = f", and {len(unmet) - _SHOWN} more" if len(unmet) > _SHOWN else ""
        found += _problem("engine", f"sglang pins what the venv has otherwise: {', '.join(unmet[:_SHOWN])}{more}")
    cache = _cache(manifest)
    free = _free_kib(cache) / (1 << 20)
    if free < _MIN_CACHE_GIB:
        found += _problem(
            "disk", f"{cache} has {free:.1f} GiB free; compiled kernels are kept there", "free some space"
        )
    return found


def _cache(manifest: dict[str, Any]) -> Path:
    """The nearest folder there is to the one for kernel caches."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    usual = "/var/cache" if manifest["service"]["supervisor"] == "systemd" else home
    where = Path(((manifest.get("profile") or {}).get("service") or {}).get("cache") or usual)
    while not where.exists():
        where = where.parent
    return where


def _left_behind(manifest: dict[str, Any]) -> list[dict[str, str]]:
    """Whether logind would end a server when the session that started it is over."""
    if manifest["service"]["supervisor"] == "systemd" or os.geteuid() == 0:
        return []
    login = ["org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"]
    try:
        words = ["busctl", "get-property", *login, "KillUserProcesses"]
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    if said.split() != ["b", "true"]:
        return []
    return _problem(
        "session",
        "logind ends what a user leaves behind when the last session closes, this server too",
        "KillUserProcesses=no in /etc/systemd/logind.conf",
    )
