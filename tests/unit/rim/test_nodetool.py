"""The tool for the nodes is the same bytes every time."""

import io
import os
import subprocess
import sys
import zipfile

from dsv4deploy.rim.nodetool import build


def test_the_same_sources_give_the_same_bytes_in_another_process() -> None:
    script = "import sys; from dsv4deploy.rim.nodetool import build; sys.stdout.buffer.write(build())"
    env = {**os.environ, "PYTHONHASHSEED": "5", "TZ": "Asia/Tokyo"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=env)
    assert done.stdout == build()


def test_it_holds_sources_of_the_node_alone() -> None:
    names = zipfile.ZipFile(io.BytesIO(build())).namelist()
    assert {name.split("/")[1] for name in names if name.count("/") > 1} == {"node"}
