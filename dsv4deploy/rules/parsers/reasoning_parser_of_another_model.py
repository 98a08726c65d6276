"""The parsers with marks of their own; all others look for the same pair and stand in for each other."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

OWN_MARKS: Final = {"gpt-oss": "gpt-oss", "kimi": "kimi-vl"}
ONLY: Final = {"gpt-oss": {"gpt-oss"}}


def verdict(ask: Ask) -> str | None:
    """Found if the parser or the model has marks that the other does not know."""
    parser, family = ask("written:reasoning_parser"), known(ask, "trait:family")
    if parser in {None, "auto"} or family is None:
        return None
    alone = OWN_MARKS.get(str(parser), family) != family
    return f"{parser} for {family}" if alone or parser not in ONLY.get(str(family), {parser}) else None
