"""The flags and variables of every known SGLang release, shipped as data.

`sglang.json.xz` holds what the wheels say and, compiled, what `overlay/*.yaml` adds; `make catalogue` writes it.
"""

import json
import lzma
from functools import cache
from importlib import resources

from dsv4deploy.model.history import History
from dsv4deploy.model.history_data import loaded

DATA = "sglang.json.xz"


@cache
def history() -> History:
    """Every known release; read once."""
    return loaded(json.loads(lzma.decompress(resources.files(__name__).joinpath(DATA).read_bytes())))
