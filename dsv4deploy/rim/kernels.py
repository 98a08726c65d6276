"""The patches of a bundle or release on this machine, through the same code that runs on a node."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.node import inplace, kernels
from dsv4deploy.node.trouble import Trouble as NodeTrouble

Answer = dict[str, Any]
_FOUND = {"patch-misfit", "patch-shared"}


def act(verb: str, bundle: Path, venv: Path | None = None) -> Answer:
    """Install, look at (`status`), prove (`verify`) or `revert` the patches of `bundle`, in its own venv or `venv`.

    Raises:
        Trouble: it is no bundle, has no patches, they do not fit, or the interpreter does not run.
    """
    manifest = _manifest(bundle, venv)
    verbs: Mapping[str, Callable[[Path, Answer], Answer]] = {
        "install": kernels.install,
        "status": kernels.status,
        "verify": kernels.verify,
        "revert": kernels.revert,
    }
    return {"release": str(bundle), "name": manifest["name"], **_told(lambda: verbs[verb](bundle, manifest))}


def in_venv(venv: Path) -> Answer:
    """What is patched in place in `venv`: its owners, and each file that is no longer as it was left."""
    journal = _told(lambda: inplace.read(venv.resolve()) or {})
    files = [
        {"path": one["path"], "patch": one["patch"], "state": "overwritten" if one["path"] in odd else "patched"}
        for odd in [inplace.overwritten(journal) if journal else []]
        for one in journal.get("files", [])
    ]
    fine = not journal or (journal["state"] == "applied" and all(one["state"] == "patched" for one in files))
    return {"venv": str(venv), "owners": journal.get("owners", []), "files": files, "fine": fine}


def revert_venv(venv: Path) -> Answer:
    """Undo everything that was patched in place in `venv`."""
    return {"venv": str(venv), **_told(lambda: inplace.revert(venv.resolve()))}


def _manifest(bundle: Path, venv: Path | None) -> Answer:
    try:
        manifest: Answer = json.loads((bundle / "manifest.json").read_bytes())
    except (OSError, ValueError):
        raise Trouble(f"{bundle} is no rendered bundle", "dsv4deploy render PROFILE -o DIR", Exit.USAGE) from None
    if not manifest.get("patches"):
        raise Trouble(f"{bundle} has no patches", "name them in kernels.patches of the profile", Exit.USAGE)
    if not manifest["engine"].get("python"):
        raise Trouble(f"{bundle} runs in a container: its patches are mounted by serve.sh", code=Exit.USAGE)
    if venv:
        manifest["engine"] = {**manifest["engine"], "python": str(venv / "bin/python")}
    return manifest


def _told(act: Callable[[], Answer]) -> Answer:
    try:
        return act()
    except NodeTrouble as trouble:
        code = Exit.FOUND if trouble.word in _FOUND else Exit.UNREADABLE
        raise Trouble(trouble.message, trouble.remedy, code) from None
    except OSError as error:
        raise Trouble(f"{error.filename or 'the disk'}: {error.strerror}") from None
