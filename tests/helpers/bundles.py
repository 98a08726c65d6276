"""Makes small bundles of the stand-in server, in the shape that `render` writes."""

import base64
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

STANDIN = Path(__file__).parent / "standin.py"

Json = dict[str, Any]


def bundle(
    folder: Path,
    *,
    name: str = "flash",
    port: int,
    supervisor: str = "process",
    python: str = sys.executable,
    server: str = str(STANDIN),
    host: str = "127.0.0.1",
    words: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    root: str = "/opt/dsv4deploy",
    user: str | None = None,
    stop_timeout_s: float = 2,
    start_timeout_s: float = 30,
    extra: dict[str, str] | None = None,
    env_file: str | None = None,
) -> Json:
    """Write a bundle into `folder`; returns its manifest. `extra` maps destinations outside the release to texts."""
    argv = ["--host", host, "--port", str(port), *words]
    environment = environment or {"COLOR": "red"}
    texts: dict[str, tuple[str, str, str | None]] = {
        "serve.sh": (
            f"""#!/bin/bash
# Written by dsv4deploy.
set -euo pipefail
. "${{BASH_SOURCE[0]%/*}}/nccl.env"
exec {python} -u {server} {" ".join(argv)}
""",
            "0755",
            None,
        ),
        "nccl.env": ("".join(f"export {k}={v}\n" for k, v in environment.items()), "0640", None),
    }
    if supervisor == "systemd":
        unit = (
            f"# Written by dsv4deploy.\n[Unit]\nDescription={name}\nStartLimitIntervalSec=1h\nStartLimitBurst=3\n"
            f"[Service]\nType=exec\nExecStart={root}/{name}/current/serve.sh\nRestart=on-failure\nRestartSec=1\n"
            f"KillMode=mixed\nTimeoutStopSec={stop_timeout_s:.0f}\n"
            + (f"User={user}\n" if user else "")
            + "[Install]\nWantedBy=multi-user.target\n"
        )
        texts[f"{name}.service"] = (unit, "0644", f"/etc/systemd/system/{name}.service")
    for number, (dest, text) in enumerate((extra or {}).items()):
        texts[f"extra-{number}"] = (text, "0644", dest)
    manifest: Json = {
        "schema": "manifest/1",
        "name": name,
        "tool": "0.1.0",
        "engine": {"kind": "sglang", "version": "0.5.23", "build": None, "python": python, "rehearsal": True},
        "files": [
            {
                "path": path,
                "mode": mode,
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
                "dest": dest,
            }
            for path, (text, mode, dest) in sorted(texts.items())
        ],
        "service": {
            "supervisor": supervisor,
            "user": user,
            "stop_timeout_s": stop_timeout_s,
            "start_timeout_s": start_timeout_s,
        },
        "endpoint": {"host": host, "port": port, "ports": [port]},
        "devices": [],
        "model": {"path": "stand-in", "served_name": "stand-in"},
        "argv": argv,
        "environment": environment,
        "profile": {},
        "env_file": {"path": env_file, "sha256": None} if env_file else None,
    }
    manifest["digest"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    for path, (text, mode, _) in texts.items():
        (folder / path).write_text(text)
        (folder / path).chmod(int(mode, 8))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return manifest


def archive(folder: Path, *, without: str | None = None) -> Json:
    """The bundle in `folder` as an install request has it; `without` names a file that is left out."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path in sorted(one for one in folder.rglob("*") if one.is_file() and one.name != without):
            info = tarfile.TarInfo(str(path.relative_to(folder)))
            info.size = path.stat().st_size
            tar.addfile(info, io.BytesIO(path.read_bytes()))
    data = out.getvalue()
    return {"archive": base64.b64encode(data).decode(), "sha256": hashlib.sha256(data).hexdigest()}
