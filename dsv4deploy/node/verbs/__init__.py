"""What a node can be asked: one function a verb, in modules that are compiled only when they are asked."""

from typing import Any, Dict

Answer = Dict[str, Any]
# How much of a log is looked through for what speaks against a server that runs.
CHECKED_LINES = 20000
