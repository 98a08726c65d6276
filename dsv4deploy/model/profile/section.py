"""What the sections of a profile are made of: their base, what a field says to the engine, and kinds of numbers."""

from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from dsv4deploy.model.shapes import AMOUNT
from dsv4deploy.model.text import Argument, VariableName


class Says(NamedTuple):
    """The field is one engine flag: the newest spelling first, the first that the engine version has is used.

    `when` tells which value of a boolean the flag stands for: `--disable-radix-cache` stands for False.
    """

    flags: tuple[str, ...]
    when: bool = True


def says(*flags: str, when: bool = True) -> Says:
    return Says(flags, when)


class Env(NamedTuple):
    """The field is one environment variable; booleans become 1 and 0."""

    name: str


class Section(BaseModel):
    """Frozen; an unknown key is an error.

    Validators are built on first use, and a default is constructed without one: only the whole profile needs its own.
    """

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", protected_namespaces=(), str_strip_whitespace=False
    )


Count = Annotated[int, Field(strict=True, ge=1)]
Natural = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Tokens = Annotated[int, Field(strict=True, ge=1)] | Annotated[str, Field(pattern=AMOUNT)]
Port = Annotated[int, Field(strict=True, ge=1, le=65_535)]
Seconds = Annotated[int, Field(strict=True, ge=1)]
# A variable's value: text, or a whole number as a convenience. A boolean or a float has no one spelling: quote it.
Value = Annotated[int, Field(strict=True)] | Argument
Variables = dict[VariableName, Value]
