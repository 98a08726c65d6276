"""An apply leaves a record, and a controller can tell whether another one is still there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.record import Record, controller, is_gone


def test_events_are_there_as_soon_as_they_are_added(tmp_path: Path) -> None:
    record = Record("apply", tmp_path / ".dsv4deploy")
    record.add({"step": "switch"})
    lines = [json.loads(line) for line in record.path.read_text().splitlines()]
    assert (lines[0]["verb"], lines[1]["step"]) == ("apply", "switch")
    assert (tmp_path / ".dsv4deploy/.gitignore").read_text() == "*\n"
    record.close()


def test_a_record_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / ".dsv4deploy").write_text("in the way")
    with pytest.raises(Trouble, match="cannot be written"):
        Record("apply", tmp_path / ".dsv4deploy")


def test_a_record_for_which_there_is_no_room_stops_nothing_and_says_so(tmp_path: Path) -> None:
    script = f"""
import resource
from pathlib import Path
from dsv4deploy.rim.record import Record
record = Record("apply", Path({str(tmp_path)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for number in range(100):
    record.add({{"number": number}})
record.close()
print(record.lost)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "File too large\n"


def test_a_controller_is_gone_once_its_process_is() -> None:
    script = "import json; from dsv4deploy.rim.record import controller; print(json.dumps(controller()))"
    ended = json.loads(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    )
    assert is_gone(ended)
    assert not is_gone(controller())
    assert is_gone({**controller(), "start": 1})


def test_nothing_is_known_of_a_controller_elsewhere() -> None:
    assert not is_gone(None)
    assert not is_gone({"boot_id": "another machine", "pid": os.getpid(), "start": 1})
