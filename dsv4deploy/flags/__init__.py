"""The flags and variables of every known SGLang release, shipped as data.

`sglang.json.xz` holds what the wheels say and, compiled, what `overlay/*.yaml` adds; `make catalogue` writes it.
"""

import json
import lzma
from functools import cache
from pathlib import Path

from dsv4deploy.model.history import History
from dsv4deploy.model.history_data import loaded

DATA = "sglang.json.xz"


@cache
def history() -> History:
    """Every known release; read once."""
    # Not through `importlib.resources`, which is slow to load; every command that judges comes through here.
    content = Path(__file__).with_name(DATA).read_bytes()
    return loaded(json.loads(lzma.decompress(content)))
