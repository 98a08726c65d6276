"""Asks the node tool on a node: tool and request travel together through one connection, and nothing is left there."""

import base64
import hashlib
import io
import json
import shlex
import tarfile
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

# Reads the tool from its standard input into memory and becomes it, so that a full or read-only disk does not matter.
_BOOT = (
    "import os,runpy,sys;i=sys.stdin.buffer;d=i.read(int(i.readline()));f=os.memfd_create('node.pyz');"
    "open(f,'wb',closefd=False).write(d);p='/proc/self/fd/%d'%f;sys.argv[0]=p;sys.path.insert(0,p);"
    "runpy.run_path(p,run_name='__main__')"
)
_NO_PYTHON = 127
_MUCH = 1 << 20  # bytes of a bundle; from there on it pays to ask first what the node has of it
_OPTIONS = {
    "verb", "name", "bundle", "digest", "root", "tool", "take_over", "restart", "expect", "confirm", "limit_s",
    "window_s", "keep", "lines", "holder", "why", "facts", "bundles", "last", "only", "capacity",
    "python", "words", "since_s", "follow", "trials", "below", "checksums",
}  # fmt: skip
_CHANGING = {"stage", "install", "switch", "rollback", "restore", "confirm", "aside", "start", "stop", "restart", "prune",
             "patches-revert"}  # fmt: skip


class ActionModule(ActionBase):
    """The action `dsv4_node`."""

    _supports_check_mode = True
    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask, and answer as Ansible expects it."""
        super().run(tmp, task_vars)
        asked = dict(self._task.args)
        unknown = sorted(set(asked) - _OPTIONS)
        if unknown or "verb" not in asked:
            raise AnsibleActionFail(f"unknown option {unknown[0]}" if unknown else "verb is required")
        verbs = asked.pop("verb")
        verbs = [verbs] if isinstance(verbs, str) else list(verbs)
        request = {key: value for key, value in asked.items() if value not in (None, "")}
        tool = _tool(request.pop("tool", None))
        if "bundle" in request:
            folder = Path(request.pop("bundle"))
            manifest = _manifest(folder)
            request |= {"name": manifest["name"], "digest": manifest["digest"]}
            if {"stage", "install", "probe"} & set(verbs):
                request["manifest"] = manifest
                held = [] if "probe" in verbs else self._held(folder, request, tool, task_vars or {})
                request |= _archive(folder, manifest, held)
        if "probe" in verbs:
            request["sources"] = {**_probes(), **request.pop("trials", {})}
        if "bundles" in request:
            request["manifests"] = [_manifest(Path(folder)) for folder in request.pop("bundles")]
        expected = request.pop("expect", {})
        if request.get("name") in expected:
            request["expect"] = expected[request["name"]]
        if self._task.check_mode and verbs == ["wait"]:
            return {"changed": False, "skipped": True, "state": "ready"}
        if self._task.check_mode and _CHANGING & set(verbs):
            verbs = ["preview"]
        if request.pop("follow", False):
            # Between two retries of a task nothing lives on but the answer that it registers.
            before = (task_vars or {}).get(self._task.register) or {}
            request |= {"mark": before["mark"]} if before.get("mark") is not None else {}
        return _result(self._ask(verbs, request, tool, task_vars or {}))

    def _held(self, folder: Path, request: dict[str, Any], tool: bytes, task_vars: dict[str, Any]) -> list[str]:
        """What a node has of a large bundle already, as digests; nothing is asked about a small one."""
        if sum((folder / entry["path"]).stat().st_size for entry in request["manifest"]["files"]) < _MUCH:
            return []
        held: list[str] = self._ask(["held-here"], request, tool, task_vars).get("held", [])
        return held

    def _ask(self, verbs: list[str], request: dict[str, Any], tool: bytes, task_vars: dict[str, Any]) -> dict[str, Any]:
        python = self._templar.template(task_vars.get("ansible_python_interpreter") or "python3")
        # `auto` and its relatives ask Ansible to look for one; the usual name will do.
        python = "python3" if str(python).startswith("auto") else str(python)
        command = shlex.join([python, "-c", _BOOT, *verbs])
        data = b"%d\n" % len(tool) + tool + json.dumps(request).encode()
        done = self._low_level_execute_command(command, in_data=data)
        return _parsed(done, python)


def _tool(path: str | None) -> bytes:
    if path:
        return Path(path).read_bytes()
    try:
        from dsv4deploy.rim.nodetool import build  # noqa: PLC0415 (only where no tool is given)
    except ImportError:
        raise AnsibleActionFail(
            "dsv4deploy is not installed for this ansible-playbook; install it there, or set dsv4_tool to a node.pyz: "
            "every node that was applied to has one, /opt/dsv4deploy/NAME/node.pyz"
        ) from None
    return build()


def _probes() -> dict[str, str]:
    try:
        from dsv4deploy.rim.probing import sources  # noqa: PLC0415 (only where probes are asked for)
    except ImportError:
        raise AnsibleActionFail("probes need dsv4deploy installed for this ansible-playbook") from None
    return sources()


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError) as error:
        raise AnsibleActionFail(f"{folder} is no rendered bundle: {error}") from None
    return manifest


def _archive(folder: Path, manifest: dict[str, Any], held: list[str]) -> dict[str, str]:
    out = io.BytesIO()
    sent = [entry["path"] for entry in manifest["files"] if entry["sha256"] not in held]
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ["manifest.json", *sent]:
            info = tarfile.TarInfo(name)
            data = (folder / name).read_bytes()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return {"archive": base64.b64encode(out.getvalue()).decode(), "sha256": hashlib.sha256(out.getvalue()).hexdigest()}


def _parsed(done: dict[str, Any], python: str) -> dict[str, Any]:
    lines = [line for line in (done.get("stdout") or "").splitlines() if line.startswith("{")]
    try:
        found: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        told = ((done.get("stderr") or "") + (done.get("stdout") or "")).strip().splitlines()[-3:]
        if done.get("rc") == _NO_PYTHON:
            message, remedy = f"there is no {python} on this node", "install Python 3.8 or newer"
        else:
            message, remedy = "the node tool gave no answer: " + " | ".join(told), "see it with --ansible"
        return {"ok": False, "changed": False, "error": {"word": "no-answer", "message": message, "remedy": remedy}}
    return found


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    if not answer.get("ok"):
        error = answer["error"]
        told = f"{error['message']}; {error['remedy']}" if error.get("remedy") else error["message"]
        return {**answer, "failed": True, "msg": told}
    problems = answer.get("problems") or []
    if problems:
        return {**answer, "failed": True, "msg": "; ".join(one["message"] for one in problems)}
    if answer.get("state") not in {None, "ready", "progressing"}:
        where = f" at stage {answer['stage']}" if answer.get("stage") else ""
        why = ": ".join(filter(None, [answer.get("class"), answer.get("root") or answer["why"]]))
        return {**answer, "msg": f"{answer['state']}{where}: {why}"}
    return answer
