"""A stand-in server: writes the ready line, answers HTTP, and fails or refuses to die when it is told to."""

import argparse
import http.server
import json
import os
import signal
import subprocess
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"pid": os.getpid(), "argv": sys.argv[1:], "color": os.environ.get("COLOR")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = json.dumps({"choices": [{"text": "Paris"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def leave(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    sys.exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--mode", default="fine", choices=["fine", "exit", "never", "stubborn"])
    parser.add_argument("--ready-after", type=float, default=0.2)
    parser.add_argument("--flag", default="one")
    options = parser.parse_args()
    print(f"server_args={vars(options)}", flush=True)
    if options.mode == "exit":
        print("RuntimeError: told to fail", file=sys.stderr, flush=True)
        sys.exit(3)
    if options.mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "3600"])
    if options.mode != "stubborn":
        signal.signal(signal.SIGTERM, lambda *_: leave(child))
    print("Load weight begin.", flush=True)
    time.sleep(options.ready_after)
    if options.mode == "never":
        time.sleep(3600)
    server = http.server.ThreadingHTTPServer((options.host, options.port), Handler)
    print("The server is fired up and ready to roll!", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
