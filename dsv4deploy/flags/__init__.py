"""The flags and variables of every known SGLang release, shipped as data.

`sglang.json.xz` holds what the wheels say and, compiled, what `overlay/*.yaml` adds; `make catalogue` writes it.
"""

import json
import lzma
import pkgutil
from functools import cache

from dsv4deploy.model.history import History
from dsv4deploy.model.history_data import loaded

DATA = "sglang.json.xz"


@cache
def history() -> History:
    """Every known release; read once."""
    # `pkgutil` starts ten times faster than `importlib.resources`, and every command that judges comes through here.
    content = pkgutil.get_data(__name__, DATA)
    if content is None:
        raise FileNotFoundError(DATA)
    return loaded(json.loads(lzma.decompress(content)))
