"""A memory account as a table for people and as a tree for programs."""

from typing import Any

from dsv4deploy.model.diagnostic import Diagnostic
from dsv4deploy.model.memory import GIB, Account, Interval, Term

HEAD = ("", "low", "likely", "high", "", "how sure", "from")


def memory_table(account: Account) -> str:
    """The account, one term a line: low, likely and high, then how sure and where from."""
    rows: list[tuple[str, ...]] = [HEAD]
    part = None
    for term in account.terms:
        if term.part is not part:
            part = term.part
            rows.append((part.value, "", "", "", "", "", ""))
        rows.append(_row(term))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [_line(row, widths) for row in rows] if account.terms else []
    lines += [f"unknown: needs {need}" for need in account.needs]
    lines += [f"not modelled: {what}" for what in account.not_modelled]
    return "\n".join(lines)


def memory_tree(account: Account) -> dict[str, Any]:
    """The account for programs, schema `memory/1`; sizes in bytes on one rank."""
    return {
        "schema": "memory/1",
        "tokens": _ends(account.tokens),
        "slack_bytes": _ends(account.slack),
        "terms": [
            {
                "part": term.part.value,
                "name": term.name,
                "amount": _ends(term.amount),
                "unit": term.unit,
                "sure": term.sure.value,
                "source": term.source,
            }
            for term in account.terms
        ],
        "diagnostics": [_told(diagnostic) for diagnostic in account.diagnostics],
        "needs": list(account.needs),
        "not_modelled": list(account.not_modelled),
    }


def _row(term: Term) -> tuple[str, ...]:
    amount, unit = term.amount, term.unit
    if unit == "B":
        amount, unit = amount.scaled(1 / GIB), "GiB"
    ends = ("", _number(amount.likely, unit), "")
    if amount.low != amount.high:
        ends = (_number(amount.low, unit), _number(amount.likely, unit), _number(amount.high, unit))
    return (f"  {term.name}", *ends, unit, term.sure.value, term.source)


def _number(number: float, unit: str) -> str:
    return {"GiB": f"{number:.2f}", "tokens": f"{number:,.0f}", "B/token": f"{number:,.1f}"}.get(unit, f"{number:g}")


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [
        text.rjust(width) if 0 < column < 4 else text.ljust(width)  # noqa: PLR2004 (the three numbers)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _ends(interval: Interval | None) -> dict[str, float] | None:
    return {"low": interval.low, "likely": interval.likely, "high": interval.high} if interval else None


def _told(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "rule": diagnostic.rule,
        "level": diagnostic.level.value,
        "names": list(diagnostic.names),
        "message": diagnostic.message,
        "remedy": diagnostic.remedy,
    }
