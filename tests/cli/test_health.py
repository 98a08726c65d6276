"""`dsv4deploy health --watch` goes on until it is interrupted, and ends without noise."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run

COMMAND = Path(sys.executable).parent / "dsv4deploy"


def test_a_watch_tells_the_first_round_and_ends_at_an_interrupt(tmp_path: Path) -> None:
    words = ["health", "--url", "http://127.0.0.1:1", "--only", "endpoints", "--watch", "--format", "json"]
    with subprocess.Popen(
        [COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        rest, noise = watching.communicate(timeout=60)
    assert (first["servers"][0]["state"], rest) == ("bad", "")
    assert (watching.returncode, "Traceback" in noise) == (130, False)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999", "http://127.0.0.1:abc", "http://[::1", "https://x", "ftp://x", "http://"]
)
def test_what_is_no_address_is_told(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["health", "--url", url, "--only", "endpoints"]) == 2
    assert f"{url} is no address of a server" in capsys.readouterr().err
