"""The process that is started: forks the schedulers, waits for them, serves HTTP, and ends as its version ends."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import NoReturn

from . import log, rank
from .endpoints import Server, follow, warm_up
from .play import Player, Struck, killed
from .record import NOTICE, RECORD, Value, behaves
from .scheduler import Scheduler
from .script import Script, choose
from .stack import Stack
from .state import State

# Real seconds, whatever the speed: a rehearsal that idles costs next to nothing.
_WATCH_SECONDS = 0.1


def launch(arguments: Value, argv: list[str]) -> None:
    """Start everything and serve until a signal or the script ends it; never returns."""
    leader = Leader(arguments, argv)
    try:
        leader.start()
        leader.serve()
    except Struck:
        leader.struck()


class Leader:
    """One server: its children, its log, its end."""

    def __init__(self, arguments: Value, argv: list[str]) -> None:
        log.line(NOTICE.format(version=RECORD["version"]))
        self.stack = Stack(arguments, _world())
        self.script: Script = choose(self.stack, dict(os.environ))
        self.player = Player(self.stack, self.script)
        self.argv = argv
        self.children: list[tuple[str, int]] = []
        self.channels: list[socket.socket] = []
        self.state = State(self.stack, argv)
        # No lock: a signal handler may interrupt another one at any point.
        self.ending = False

    def start(self) -> None:
        """Everything up to the moment when all schedulers are ready."""
        self.player.strike("args")
        self.player.play("args", server_args=self._shown_settings())
        self.player.strike("init")
        signal.signal(signal.SIGQUIT, self._launch_phase_sigquit)
        # The first child may fail before the last one is known, and all must be killed.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGQUIT})
        for number in range(self.stack.ranks):
            self._fork(f"scheduler_{number}", number)
        self._fork("detokenizer", None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGQUIT})
        self._wait()

    def serve(self) -> None:
        """Bind, warm up, and answer until the end."""
        if self.stack.settings.get("node_rank"):
            self._follow()
        self.player.play("server")
        try:
            server = Server(self.state, Scheduler(self.channels[0]), self._before)
        except OSError as error:
            self._port_taken(error)
        self.player.play("bound", host=self.state.host, port=self.state.port)
        for signum, handler in (
            (signal.SIGTERM, self._sigterm),
            (signal.SIGINT, self._sigint),
            (signal.SIGQUIT, self._sigquit),
        ):
            signal.signal(signum, handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 60}, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()
        log.pause(self.script.delays.get("warmup", 0))
        if "warmup" in self.stack.traits:
            warm_up(self.state)
        self.state.ready = True
        self.player.play("ready")
        if self.script.stage == "serve" and self.script.seconds is not None:
            log.pause(self.script.seconds)
            self._tell_to_fail()
        _idle()

    def _follow(self) -> None:
        """Another node than the first: `/health` always says 200, and SIGTERM does not end it."""
        text = "SIGTERM received on node_rank {}; waiting for the rank-0 ShutdownReq broadcast to stop the schedulers."
        said = text.format(self.stack.settings["node_rank"])
        signal.signal(signal.SIGTERM, lambda *_: log.line(said) if behaves("follower_speaks") else None)
        signal.signal(signal.SIGQUIT, self._sigquit)
        follow(self.state)
        self._watch()
        _idle()

    def struck(self) -> None:
        """The failure script belongs to the leader itself."""
        self.player.fail()
        if self.script.end == "hang":
            _idle()
        self._kill_children()
        if self.script.end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(int(self.script.failure.get("code", 1)))

    def _shown_settings(self) -> str:
        settings = self.state.shown_settings()
        if behaves("args_as_dict"):
            return repr(settings)
        return "ServerArgs({})".format(", ".join("{}={!r}".format(*item) for item in settings.items()))

    def _fork(self, name: str, number: int | None) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid:
            theirs.close()
            self.children.append((name, pid))
            self.channels.append(ours)
            return
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGQUIT})
        for channel in [*self.channels, ours]:
            # Only the leader holds this end, so that its death ends the child.
            channel.close()
        try:
            if number is None:
                rank.become_child("sglang::detoken")
                theirs.recv(1)
            else:
                rank.run(number, self.stack, self.script, theirs)
            os._exit(0)
        except (BrokenPipeError, ConnectionResetError):
            # The leader has gone.
            os._exit(1)
        except BaseException:  # noqa: BLE001 (a child never returns into the code of its parent)
            log.raw(traceback.format_exc())
            os._exit(1)

    def _wait(self) -> None:
        """Until every scheduler says that it is ready."""
        waiting = {channel: number for number, channel in enumerate(self.channels[: self.stack.ranks])}
        while waiting:
            for channel in select.select(list(waiting), [], [])[0]:
                if b"ready" not in channel.recv(4096):
                    self._died(waiting[channel])
                del waiting[channel]

    def _died(self, number: int) -> None:
        """A scheduler has gone without a word, as after SIGKILL or an abort in native code."""
        code = _exit_code(os.waitpid(self.children[number][1], 0)[1])
        # A scheduler that raised has sent SIGQUIT first; its handler does not come back.
        log.pause(0.05)
        killed(include_parent=False)
        self.player.play("died", rank=number, code=code)
        self._kill_children()
        os._exit(1)

    def _port_taken(self, error: OSError) -> None:
        """The engine neither exits nor listens: it hangs, and SIGTERM does not end it."""
        self.player.play("port_taken", host=self.state.host, port=self.state.port, code=error.errno)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _idle()

    def _before(self, tokens: int) -> None:
        """A request of `tokens` comes: it may be the one that brings the failure."""
        if self.script.due(self.state.ready, self.state.answered, tokens):
            self._tell_to_fail()

    def _tell_to_fail(self) -> None:
        """Let the schedulers of the script fail; where one hangs, the others wait for it for ever."""
        together = self.script.rank is None or self.script.end == "hang"
        for number in range(self.stack.ranks):
            if together or number == self.script.rank:
                self.channels[number].sendall(json.dumps({"kind": "fail"}).encode() + b"\n")

    def _watch(self) -> None:
        """Notice a child that dies while serving; versions before the watchdog notice nothing."""
        while behaves("subprocess_watchdog") and not self.ending:
            time.sleep(_WATCH_SECONDS)
            if self._crashed():
                os.kill(os.getpid(), signal.SIGQUIT)
                return

    def _crashed(self) -> bool:
        """Whether a child has died of anything but our own end; says so."""
        for name, pid in self.children:
            with contextlib.suppress(ChildProcessError):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done and status and not self.ending:
                    self.player.play("crashed", name=name, child=pid, code=_exit_code(status))
                    return True
        return False

    def _launch_phase_sigquit(self, _signum: int, _frame: Value) -> None:
        log.line("Received sigquit from a child process. It usually means the child failed.")
        self._die()

    def _sigquit(self, _signum: int, _frame: Value) -> None:
        self.ending = True
        self.player.play("sigquit")
        self._die()

    def _die(self) -> None:
        """Kill the whole tree, this process included, with signal 9: all that a unit sees of a crash."""
        killed(include_parent=True)
        self._kill_children()
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    def _sigterm(self, _signum: int, _frame: Value) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.state.draining = True
        log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        log.pause(0.4)
        if behaves("subprocess_watchdog") and self._crashed():
            self._sigquit(signal.SIGQUIT, None)
        while self.state.running:
            self._gracefully()
            log.pause(0.5)
        self._gracefully()
        self.ending = True
        if not behaves("clean_exit"):
            self._die()
        killed(include_parent=False)
        self._kill_children()
        self._finish()

    def _gracefully(self) -> None:
        running = list(self.state.running)
        text = "Gracefully exiting... Remaining number of requests {}. Remaining requests remaining_rids={}."
        log.line(text.format(len(running), running))

    def _sigint(self, _signum: int, _frame: Value) -> None:
        if not self.ending:
            self.ending = True
            self._finish()

    def _finish(self) -> None:
        self.player.play("finish")
        killed(include_parent=False)
        self._kill_children()
        os._exit(0)

    def _kill_children(self) -> None:
        for _name, pid in self.children:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _idle() -> NoReturn:
    """Leave all that is left to the handlers of signals.

    A signal that comes just before a wait ends it; of `signal.pause` it would not.
    """
    heard, hears = socket.socketpair()
    hears.setblocking(False)
    signal.set_wakeup_fd(hears.fileno(), warn_on_full_buffer=False)
    while True:
        heard.recv(1)


def _world() -> dict[str, Value] | None:
    path = os.environ.get("DSV4_REHEARSAL_WORLD")
    if not path:
        return None
    world: dict[str, Value] = json.loads(Path(path).read_text(encoding="utf-8"))
    return world


def _exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
