"""Follows one start until it is decided: tails its log, asks over HTTP, looks at its process, and lets the judge judge."""

from __future__ import annotations

import http.client
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from dsv4deploy.node import procs
from dsv4deploy.node.files import text
from dsv4deploy.node.judge import Judge
from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.tail import FileTail, JournalTail, kernel_lines

_POLL_S = 0.2
_LOOK_S = 2.0
_COLLECTED_S = 5.0
_SHARE = 0.03  # of a core, for looks: a node may have thousands of processes
# /health itself takes a second when all is well and gives up after 20; a request that we abandon stays in the scheduler.
_HEALTH_TIMEOUT_S = 30.0
_HEALTH_EVERY_S = 2.0
_HEALTH_AT_MOST_S = 240.0
_COMPLETION_TIMEOUT_S = 300.0
_COMPLETION = "/v1/completions"
_PROMPT = {"prompt": "The capital of France is", "max_tokens": 8, "temperature": 0}


class Answer(NamedTuple):
    """What came back over HTTP; `status` is None when nothing did."""

    path: str
    status: int | None
    body: str
    timed_out: bool


class Asker:
    """One request at a time, in a thread of its own, so that a server that does not answer stops nothing else."""

    def __init__(self, host: str, port: int, headers: dict[str, str]) -> None:
        self._address = (host, port)
        self._headers = headers
        self._thread: threading.Thread | None = None
        self._answers: list[Answer] = []

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def ask(self, path: str, timeout: float, document: dict[str, Any] | None = None) -> None:
        """Send a request unless one is under way."""
        if not self.busy:
            self._thread = threading.Thread(target=self._run, args=(path, timeout, document), daemon=True)
            self._thread.start()

    def answers(self) -> list[Answer]:
        """What has come since the last call."""
        found, self._answers = self._answers, []
        return found

    def _run(self, path: str, timeout: float, document: dict[str, Any] | None) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=timeout)
        try:
            body = None if document is None else json.dumps(document)
            method = "GET" if body is None else "POST"
            connection.request(method, path, body, {"Content-Type": "application/json", **self._headers})
            answer = connection.getresponse()
            text = answer.read(1 << 20).decode(errors="replace")
            self._answers.append(Answer(path, answer.status, text, False))
        except (OSError, http.client.HTTPException) as trouble:
            self._answers.append(Answer(path, None, "", isinstance(trouble, TimeoutError)))
        finally:
            connection.close()


class Follower:
    """Drives a judge through one start.

    The request (all keys but `pid`, `port` and a log are optional): `pid` (leader of the start), `port`, `host`,
    `log` and `offset` (bytes before this start) or `invocation` (systemd's), `unit` or `state_file` (who knows the exit
    code: systemd, or a JSON file with `exit`), `model` (served name), `api_key_file`, `ready_path` (`/ready` where the
    version has it), `signatures`, `expectations`, `limit_s`, `memory` (of an earlier call for the same start).
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.tail: FileTail | JournalTail = (
            JournalTail(request["invocation"])
            if not request.get("log")
            else FileTail(request["log"], int(request.get("offset") or 0))
        )
        expectations = {"started": time.monotonic(), **(request.get("expectations") or {})}
        self.judge = Judge(Catalogue(request["signatures"]), expectations)
        if request.get("memory"):
            self.judge.recall(request["memory"])
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(request.get("host") or "", request.get("host") or "127.0.0.1")  # noqa: S104 (where we ask, not where we listen)
        self.asker = Asker(host, int(request["port"]), _key(request.get("api_key_file")))
        self._next_look = self._next_question = 0.0
        self._pause = _HEALTH_EVERY_S
        self._listening = False

    def run(self) -> dict[str, Any]:
        """Follow until the start is decided or `limit_s` has passed; the answer `wait/1`, with `memory` to go on."""
        end = time.monotonic() + float(self.request.get("limit_s") or 1e9)
        try:
            while True:
                now = time.monotonic()
                read = self._step(now)
                verdict = self.judge.verdict(now)
                if verdict["decided"] or now >= end:
                    return {**verdict, "memory": self.judge.memory()}
                if not read:
                    time.sleep(_POLL_S)
        finally:
            self.tail.close()

    def _step(self, now: float) -> bool:
        chunk = self.tail.read()
        if chunk:
            self.judge.log(now, chunk)
        for answer in self.asker.answers():
            self._hear(now, answer)
        if now >= self._next_look and not chunk:
            cost = -time.process_time()
            self._look(now)
            cost += time.process_time()
            self._next_look = now + max(self._rhythm(now, _LOOK_S), cost / _SHARE)
        if now >= self._next_question and not self.asker.busy and not chunk:
            self._question(now)
        return bool(chunk)

    def _rhythm(self, now: float, usual: float) -> float:
        """A tenth of the start's age, so that a quick start is not kept waiting, and a slow one is not pestered."""
        return max(_POLL_S, min(usual, (now - self.judge.started) / 10))

    def _look(self, now: float) -> None:
        # Children may outlive their leader; the server does not.
        leader = int(self.request["pid"])
        there = leader > 0 and procs.alive(leader, self.request.get("start"))
        pids = {one.pid for one in procs.family(leader)} if there else set()
        if pids:
            port = int(self.request["port"])
            held = procs.holders([port], pids)
            self._listening = port in held
            self.judge.process(now, True, pids=pids, listener=held.get(port), work=read_bytes(pids))
            return
        code = exit_code(self.request)
        for rest in self.tail.rest():
            self.judge.log(now, rest)
        for line in kernel_lines(time.time() - (now - self.judge.started) - 1):
            self.judge.kernel_line(line)
        self.judge.process(now, False, code=code)

    def _question(self, now: float) -> None:
        """Ask for health while somebody listens; once it is good and the ready line was seen, for one completion."""
        self._next_question = now + min(self._pause, self._rhythm(now, self._pause))
        if not self._listening:
            return
        proofs = self.judge.proofs()
        if proofs["ready_line"] and proofs["health"] and not proofs["completion"]:
            model = self.request.get("model") or "default"
            self.asker.ask(_COMPLETION, _COMPLETION_TIMEOUT_S, {"model": model, **_PROMPT})
        elif not all(proofs.values()):
            self.asker.ask(self.request.get("ready_path") or "/health", _HEALTH_TIMEOUT_S)

    def _hear(self, now: float, answer: Answer) -> None:
        if answer.timed_out:
            self._pause = min(2 * max(self._pause, _HEALTH_TIMEOUT_S), _HEALTH_AT_MOST_S)
        else:
            self._pause = self._rhythm(now, _HEALTH_EVERY_S)
        self._next_question = now + self._pause
        if answer.path != _COMPLETION or not answer.timed_out:
            self.judge.http(now, answer.path, answer.status, answer.body)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Follow the start that `request` describes (see `Follower`) and answer `wait/1`."""
    return Follower(request).run()


def read_bytes(pids: set[int]) -> int:
    """What these processes have read from disks, in bytes: it grows while weights load, however silent that is."""
    lines = (line.partition(": ") for pid in pids for line in text(f"/proc/{pid}/io").splitlines())
    return sum(int(value) for name, _, value in lines if name == "read_bytes")


def exit_code(request: dict[str, Any]) -> int | None:
    """The code the leader left with, negative for a signal, from whoever kept it; None if nobody knows.

    Whoever collects a dead process may do so a little later than we see that it is dead.
    """
    known = _kept_code if request.get("state_file") else _code_of_unit if request.get("unit") else None
    end = time.monotonic() + _COLLECTED_S
    while known is not None:
        code = known(request)
        if code is not None or time.monotonic() >= end:
            return code
        time.sleep(_POLL_S)
    return None


def _kept_code(request: dict[str, Any]) -> int | None:
    try:
        kept = json.loads(Path(request["state_file"]).read_text(encoding="utf-8"))
        code = kept.get("exit") if kept.get("pid", request["pid"]) == request["pid"] else None
    except (OSError, ValueError, AttributeError):
        return None
    return code if isinstance(code, int) else None


def _code_of_unit(request: dict[str, Any]) -> int | None:
    command = ["systemctl", "show", "--property=ExecMainPID,ExecMainCode,ExecMainStatus", str(request["unit"])]
    shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=False).stdout
    found = dict(line.split("=", 1) for line in shown.decode().split() if "=" in line)
    # ExecMainCode is si_code: 0 not collected yet, 1 exited, 2 killed, 3 dumped.
    if found.get("ExecMainPID") != str(request["pid"]) or found.get("ExecMainCode") in (None, "0"):
        return None
    status = int(found.get("ExecMainStatus") or 0)
    return -status if found["ExecMainCode"] in ("2", "3") else status


def _key(path: str | None) -> dict[str, str]:
    if not path:
        return {}
    return {"Authorization": f"Bearer {Path(path).read_text(encoding='utf-8').strip()}"}
