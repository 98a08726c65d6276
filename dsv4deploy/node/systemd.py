"""The systemd supervisor: one unit a deployment, a drop-in while it is on trial, a watch that outlives a reboot."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from dsv4deploy.node import files, pages, procs
from dsv4deploy.node.place import Place
from dsv4deploy.node.trouble import Trouble

UNITS = Path("/etc/systemd/system")
_PROPERTIES = [
    "LoadState",
    "ActiveState",
    "SubState",
    "MainPID",
    "ExecMainPID",
    "InvocationID",
    "Result",
    "ExecMainStatus",
    "NRestarts",
    "UnitFileState",
    "NeedDaemonReload",
    "FragmentPath",
]
_TRIAL = """\
# Written by dsv4deploy: the first start of a release is judged, so nothing starts it again behind the judge's back.
# Nobody uses it yet, so that there is nothing to drain.
[Service]
Restart=no
TimeoutStopSec=15
"""
_WATCH = """\
# Written by dsv4deploy: brings back the previous release of {name} unless the new one is confirmed in time,
# and {name} itself when it was stopped for an experiment whose controller is gone.
[Unit]
Description=Watch over an unconfirmed release of {name}, or over its absence
ConditionPathExists=|{unconfirmed}
ConditionPathExists=|{aside}
Before={name}.service
[Service]
Type=exec
ExecStartPre={python} {tool} settle {folder}
ExecStart={python} {tool} watch {folder}
Restart=on-failure
RestartSec=5
[Install]
WantedBy=multi-user.target
"""


class Systemd:
    """Starts, stops and describes the unit of one deployment."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.unit = f"{place.name}.service"
        self.watch_unit = f"dsv4deploy-watch-{place.name}.service"

    @property
    def drop_in(self) -> Path:
        return UNITS / f"{self.unit}.d" / "50-dsv4deploy-trial.conf"

    def prepare(self, *, judged: bool) -> list[str]:
        """Let systemd know the unit as it is on disk; what changed."""
        changed = []
        if judged and files.text(self.drop_in) != _TRIAL:
            self.drop_in.parent.mkdir(exist_ok=True)
            files.write(self.drop_in, _TRIAL.encode())
            changed.append(str(self.drop_in))
        if not judged and files.remove(self.drop_in):
            changed.append(str(self.drop_in))
        shown = self.show()
        if changed or shown.get("NeedDaemonReload") == "yes" or shown.get("LoadState") == "not-found":
            self.reload()
        if shown.get("UnitFileState") != "enabled":
            _systemctl("enable", "--quiet", self.unit)
            changed.append("enabled")
        return changed

    def reload(self) -> None:
        _systemctl("daemon-reload")

    def retire(self) -> None:
        """Forget the unit; its file is removed by whoever placed it."""
        _systemctl("disable", "--quiet", self.unit, check=False)

    def start(self, manifest: dict[str, Any], *, block: bool = True) -> None:
        _systemctl("reset-failed", self.unit, check=False)
        log = manifest["service"].get("log")
        offset = os.path.getsize(log) if log and os.path.exists(log) else 0
        done = _systemctl("start", *([] if block else ["--no-block"]), self.unit, check=False)
        shown = self.show()
        pid = int(shown.get("MainPID") or shown.get("ExecMainPID") or 0)
        found = procs.process(pid) if pid else None
        noted = {
            "invocation": shown.get("InvocationID"),
            "pid": pid or int(shown.get("ExecMainPID") or 0),
            "start": found.start if found else int(procs.uptime() * os.sysconf("SC_CLK_TCK")),
            "log": log,
            "offset": offset,
        }
        files.write_json(self.place.folder / "started", noted)
        if done.returncode:
            raise Trouble("wont-start", f"systemd does not start {self.unit}: {done.stderr.strip()}")

    def stop(self, manifest: dict[str, Any], *, block: bool = True) -> None:
        """Signal the leader, wait for the drain that the unit allows, and see that nothing is left.

        Raises:
            Trouble: something of it still runs.
        """
        if not block:
            _systemctl("stop", "--no-block", self.unit, check=False)
            return
        pid = int(self.show().get("MainPID") or 0)
        family = procs.family(pid) if pid else []
        limit = float(manifest.get("service", {}).get("stop_timeout_s") or 90) + 60
        done = _systemctl("stop", self.unit, check=False, limit_s=limit)
        left = procs.gone(family, 10)
        if done.returncode not in (0, 5) or left:
            names = ", ".join(f"pid {one.pid} (state {one.state})" for one in left)
            raise Trouble("wont-stop", f"{self.unit} does not stop: {names or done.stderr.strip()}")

    def running(self) -> dict[str, Any] | None:
        """The unit's process: `pid`, `start`, `invocation`; None if none runs."""
        shown = self.show()
        pid = int(shown.get("MainPID") or 0)
        found = procs.process(pid) if pid else None
        if found is None or shown.get("ActiveState") not in {"active", "activating", "reloading"}:
            return None
        return {"pid": pid, "start": found.start, "invocation": shown.get("InvocationID")}

    def started(self) -> dict[str, Any] | None:
        """The start that was last, by us or by systemd itself, and where its log and its exit code are."""
        running, noted = self.running(), files.read_json(self.place.folder / "started") or {}
        if running is not None and running["invocation"] != noted.get("invocation"):
            noted = {**running, "log": noted.get("log"), "offset": 0}
        return {**noted, "unit": self.unit} if noted else None

    def state(self) -> dict[str, Any]:
        """The unit in systemd's words."""
        shown = self.show()
        return {
            "unit": self.unit,
            "load": shown.get("LoadState"),
            "active": shown.get("ActiveState"),
            "sub": shown.get("SubState"),
            "result": shown.get("Result"),
            "exit_status": int(shown.get("ExecMainStatus") or 0),
            "restarts": int(shown.get("NRestarts") or 0),
            "enabled": shown.get("UnitFileState"),
            "need_reload": shown.get("NeedDaemonReload") == "yes",
            "fragment": shown.get("FragmentPath"),
            "invocation": shown.get("InvocationID"),
            "trial": self.drop_in.exists(),
        }

    def ended(self) -> str | None:
        """How the last run ended; None while it runs."""
        shown = self.show()
        if shown.get("ActiveState") in {"active", "activating", "reloading", "deactivating"}:
            return None
        return f"{shown.get('Result')}, status {shown.get('ExecMainStatus')}"

    def log(self, lines: int, invocation: str | None = None) -> list[str]:
        """The last lines of the journal or of the log file that the unit writes to, of one run or of all."""
        noted = files.read_json(self.place.folder / "started") or {}
        if noted.get("log"):
            same = invocation is not None and invocation == noted.get("invocation")
            return files.tail(Path(noted["log"]), lines, noted["offset"] if same else 0)
        words = ["journalctl", "--quiet", "--no-pager", "--output=cat", f"--lines={lines}"]
        chosen = [f"_SYSTEMD_INVOCATION_ID={invocation}"] if invocation else ["--unit", self.unit]
        done = subprocess.run([*words, *chosen], capture_output=True, text=True, errors="replace", check=False)
        return done.stdout.splitlines()

    def page(self, lines: int, since: float | None, mark: Any) -> pages.Page:  # noqa: ANN401 (a mark is JSON)
        noted = files.read_json(self.place.folder / "started") or {}
        if noted.get("log"):
            return pages.of_file(Path(noted["log"]), lines, since, mark)
        return pages.of_journal(self.unit, lines, since, mark)

    def watch(self) -> None:
        """Have the watch run from now on and after every boot, as long as a release is unconfirmed or aside."""
        path = UNITS / self.watch_unit
        text = _WATCH.format(
            name=self.place.name,
            folder=shlex.quote(str(self.place.folder)),
            tool=shlex.quote(str(self.place.tool)),
            unconfirmed=self.place.unconfirmed,
            aside=self.place.aside,
            python=sys.executable,
        )
        if files.text(path) != text:
            files.write(path, text.encode())
            self.reload()
            _systemctl("enable", "--quiet", self.watch_unit)
        _systemctl("restart", self.watch_unit)

    def unwatch(self) -> None:
        _systemctl("stop", "--no-block", self.watch_unit, check=False)

    def show(self) -> dict[str, str]:
        done = _systemctl("show", "--property", ",".join(_PROPERTIES), self.unit, check=False)
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def _systemctl(*words: str, check: bool = True, limit_s: float = 120) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            ["systemctl", "--no-ask-password", *words], capture_output=True, text=True, timeout=limit_s, check=False
        )
    except FileNotFoundError:
        raise Trouble("system", "this node has no systemd", "service: {supervisor: process}") from None
    except subprocess.TimeoutExpired:
        raise Trouble("system", f"systemctl {' '.join(words)} did not end within {limit_s:.0f} s") from None
    if check and done.returncode:
        raise Trouble("system", f"systemctl {' '.join(words)}: {done.stderr.strip()}")
    return done
