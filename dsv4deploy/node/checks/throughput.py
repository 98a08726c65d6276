"""How many tokens a second one request gets at a time, measured until the answer is sure enough."""

from __future__ import annotations

import math
import statistics
from typing import Any, Callable

from dsv4deploy.node.checks.smoke import SHORT
from dsv4deploy.node.checks.target import OK, Target
from dsv4deploy.node.trouble import Trouble

_PATH = "/v1/completions"
_TOKENS = 64
_LEAST, _MOST = 3, 12
_SURE = 0.02
# Half the width of a 95 % interval in standard errors, by how many were measured (Student's t).
_T = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 11: 2.228, 12: 2.201}


def measured(target: Target, below: float) -> dict[str, Any]:
    """Tokens a second of the server, asked for `_TOKENS` tokens again and again; the first answer only warms it up.

    Raises:
        Trouble: a request is not answered.
    """
    _rate(target)
    return settled(lambda: _rate(target), below)


def settled(rate: Callable[[], float], below: float) -> dict[str, Any]:
    """Mean and 95 % `error` of `rate` in tokens a second, measured until `below` is outside of it.

    It also ends once the error is 2 % of the mean, or after twelve runs.
    """
    rates: list[float] = []
    while True:
        rates.append(rate())
        if len(rates) < _LEAST:
            continue
        mean = statistics.mean(rates)
        error = _T[len(rates)] * statistics.stdev(rates) / math.sqrt(len(rates))
        if abs(mean - below) > error or error <= _SURE * mean or len(rates) == _MOST:
            return {"tokens_per_s": round(mean, 2), "error": round(error, 2), "runs": len(rates), "tokens": _TOKENS}


def _rate(target: Target) -> float:
    request = {"model": target.model, "prompt": SHORT, "max_tokens": _TOKENS, "temperature": 0, "ignore_eos": True}
    answer = target.ask(_PATH, request)
    document = answer.document() if answer.status == OK else None
    try:
        tokens = int(document["usage"]["completion_tokens"])  # type: ignore[index]  # (what is none is caught)
    except (LookupError, TypeError, ValueError):
        raise Trouble("no-answer", f"{_PATH} gave no completion: {answer.status} {answer.body[:200]}") from None
    return tokens / max(answer.seconds, 1e-6)
