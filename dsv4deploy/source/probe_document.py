"""Reads what probes answered, and the table of what they are expected to answer."""

from importlib.resources import files

import yaml
from pydantic import TypeAdapter, ValidationError

from dsv4deploy.model.probe import ProbeDocument, Recorded
from dsv4deploy.model.trouble import Trouble


def read_probes(text: str, name: str) -> ProbeDocument:
    """The document `probe/1` in `text`; `name` is where it came from.

    Raises:
        Trouble: it is none.
    """
    try:
        return ProbeDocument.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise Trouble(f"{name} is no probe document: {where}: {first['msg']}", "write one: dsv4deploy probe") from None


def recorded() -> tuple[Recorded, ...]:
    """The stacks on which the probes were run before."""
    text = files("dsv4deploy.probes").joinpath("expected.yaml").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Recorded, ...]).validate_python(yaml.safe_load(text))
