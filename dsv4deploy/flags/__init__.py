"""The flags and variables of every known SGLang release, shipped as data.

`sglang.json.gz` holds what the wheels say and, compiled, what `overlay/*.yaml` adds; `make catalogue` writes it.
"""

import json
import zlib
from functools import cache
from pathlib import Path
from typing import Final

from dsv4deploy.model.history import History
from dsv4deploy.model.history_data import loaded

DATA: Final = "sglang.json.gz"
GZIP: Final = 31  # for zlib: the largest window, and the frame of gzip around it


@cache
def history() -> History:
    """Every known release; read once."""
    # Not through `importlib.resources`, which is slow to load; every command that judges comes through here.
    content = Path(__file__).with_name(DATA).read_bytes()
    return loaded(json.loads(zlib.decompress(content, wbits=GZIP)))
