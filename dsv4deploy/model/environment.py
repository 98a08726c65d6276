"""Everything that can be wrong with one environment variable, as the engine and its libraries read it."""

from typing import NamedTuple, TypeAlias

from dsv4deploy.model.flag import EnvVar, Life


class UnknownVariable(NamedTuple):
    """A name that nobody reads. `nearest` is what may have been meant."""

    name: str
    nearest: tuple[str, ...] = ()


class OtherVersionVariable(NamedTuple):
    """A name that this version of the engine does not read, but another does."""

    name: str
    life: Life


class MalformedVariable(NamedTuple):
    """A value that the reader of the variable cannot use; `wanted` says what it can, `effect` what it does instead."""

    variable: EnvVar
    value: str
    wanted: str
    effect: str


class RetiredVariable(NamedTuple):
    """A name that the engine still looks at, only to say that it is deprecated."""

    name: str
    variable: EnvVar


VariableError: TypeAlias = UnknownVariable | OtherVersionVariable | MalformedVariable | RetiredVariable
