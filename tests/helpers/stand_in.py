"""A server of a few lines that behaves as it is told: `stand_in.py PORT LOG WORD...`, one word a step.

Words: `log:TEXT`, `rotate` (rename the log), `empty` (copy and truncate it), `listen`, `asked` (wait for the first question),
`status:CODE` (of /health), `mute` (answer nothing any more), `sleep:SECONDS`, `exit:CODE`, `kill`, `stay`.
"""

import http.server
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

STATUS = [503]
ASKED = threading.Event()
MUTE = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status: int, body: str) -> None:
        ASKED.set()
        if MUTE.is_set():
            time.sleep(60)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self) -> None:
        self.answer(STATUS[0], "")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(200, json.dumps({"choices": [{"text": f" {asked['prompt']} ..."}]}))

    def log_message(self, *_: object) -> None:
        pass


class StandIn:
    """One run; each word is a method."""

    def __init__(self, port: int, log: Path) -> None:
        self.port, self.path = port, log
        self.out = log.open("a", encoding="utf-8", buffering=1)

    def log(self, text: str) -> None:
        self.out.write(f"[2026-06-17 23:46:02 TP0] {text}\n")

    def rotate(self, _: str) -> None:
        self.path.rename(f"{self.path}.1")
        self.out = self.path.open("a", encoding="utf-8", buffering=1)

    def empty(self, _: str) -> None:
        shutil.copy(self.path, f"{self.path}.1")
        os.truncate(self.path, 0)

    def listen(self, _: str) -> None:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def asked(self, _: str) -> None:
        ASKED.wait()

    def status(self, code: str) -> None:
        STATUS[0] = int(code)

    def mute(self, _: str) -> None:
        MUTE.set()

    def sleep(self, seconds: str) -> None:
        time.sleep(float(seconds))

    def stay(self, _: str) -> None:
        time.sleep(60)

    def exit(self, code: str) -> None:
        os._exit(int(code))

    def kill(self, _: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    run = StandIn(int(sys.argv[1]), Path(sys.argv[2]))
    for word in sys.argv[3:]:
        name, _, value = word.partition(":")
        getattr(run, name)(value)
