"""A rule: one piece of knowledge about what goes wrong, when, how we know, and what to do instead."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from dsv4deploy.model.diagnostic import Level
from dsv4deploy.model.shapes import SLUG

Slug = Annotated[str, StringConstraints(pattern=SLUG)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Scalar: TypeAlias = bool | int | float | str | None
# What a rule asks about: `setting:DEST` (in effect), `written:DEST` (as it stands there, None if it does not),
# `env:NAME` (in effect), `fact:KEY`, `trait:NAME` (what follows from the others), `profile:PATH`,
# `patch:NAME` (its kind and digest, None if it is not laid), `patched:PATH` (the patches that change this file, or
# anything in this folder, such as `sglang/srt/layers/attention`).
KINDS = ("setting", "written", "env", "fact", "trait", "profile", "patch", "patched")
OPERATORS = {"is_", "in_", "above", "below", "set_", "within"}


class Severity(StrEnum):
    """What happens if it is done all the same."""

    WRONG_OUTPUT = "wrong-output"
    CRASH = "crash"
    HANG = "hang"
    REFUSED = "refused"
    SLOW = "slow"
    RISK = "risk"


class Grade(StrEnum):
    """How we know, the strongest first."""

    ENFORCED = "enforced"
    REPRODUCED = "reproduced"
    CONFIRMED = "confirmed"
    REPORTED = "reported"
    INFERRED = "inferred"


class Missing(Exception):  # noqa: N818 (not an error: the answer to a question that nobody can answer yet)
    """The answer depends on facts that nobody has read; `needs` are their keys."""

    def __init__(self, *needs: str) -> None:
        super().__init__(*needs)
        self.needs = needs


Ask: TypeAlias = Callable[[str], Any]
"""Answers a subject (`fact:arch`); raises `Missing` where the answer is not known."""


class Found(NamedTuple):
    """What a rule found: words for its message (none if its summary says it all), and other subjects than its own."""

    words: str = ""
    subjects: tuple[str, ...] = ()


Verdict: TypeAlias = Callable[[Ask], Found | str | None]
"""A rule in Python: what it found, or None; raises `Missing`."""


def known(ask: Ask, subject: str) -> Any:  # noqa: ANN401 (whatever the subject holds)
    """The answer, or None where nobody knows it."""
    try:
        return ask(subject)
    except Missing:
        return None


def before(ask: Ask, release: str) -> bool:
    """Whether the engine is older than `release`.

    Raises:
        Missing: nobody knows its version, or it is none.
    """
    try:
        return Version(str(ask("fact:engine_version"))) < Version(release)
    except InvalidVersion:
        raise Missing("engine_version") from None


def not_in_table(ask: Ask, came: Mapping[str, str]) -> str | None:
    """What a rule finds of the model's first class, by the release in which each class came into a table; None if in it.

    Raises:
        Missing: the class is not known, or it came at some time and the engine's version is not known.
    """
    name = str(ask("fact:model.architectures")[0])
    if name not in came:
        return name
    return f"{name} came with {came[name]}" if before(ask, came[name]) else None


class Frozen(BaseModel):
    """Base of everything in a rule file: frozen; unknown keys are refused."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", populate_by_name=True)
    # How the values of some fields are made of what JSON holds.
    makers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    @classmethod
    def trusted(cls, kept: Mapping[str, Any]) -> Self:
        """The value that `kept`, JSON by field names, was dumped from; nothing is checked a second time.

        To build the validators of a catalogue costs a check more than all else that it does with rules.
        """
        fields = {**_defaults(cls), **kept}
        for name in cls.makers.keys() & kept.keys():
            fields[name] = cls.makers[name](kept[name])
        value = cls.__new__(cls)
        value.__setstate__(
            {
                "__dict__": fields,
                "__pydantic_fields_set__": set(kept),
                "__pydantic_extra__": None,
                "__pydantic_private__": None,
            }
        )
        return value


@cache
def _defaults(cls: type[Frozen]) -> Mapping[str, Any]:
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in cls.model_fields.items()
        if not field.is_required()
    }


def _each(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: tuple(make(value) for value in values)


@lru_cache(maxsize=512)
def _is_a_range(value: str | None) -> str | None:
    try:
        SpecifierSet(value or "")
    except InvalidSpecifier as error:
        raise ValueError(f"{value} is no range of versions, `>=0.5.12,<0.5.20`") from error
    return value


Range: TypeAlias = Annotated[str | None, AfterValidator(_is_a_range)]


class Condition(Frozen):
    """One question with yes or no: a subject and an operator, a negation, or several of which one is enough."""

    setting: str | None = None
    written: str | None = None
    env: str | None = None
    fact: str | None = None
    trait: str | None = None
    profile: str | None = None
    patch: str | None = None
    patched: str | None = None
    is_: Scalar = Field(None, alias="is")
    in_: tuple[Scalar, ...] | None = Field(None, alias="in")
    above: int | float | str | None = None
    below: int | float | str | None = None
    set_: bool | None = Field(None, alias="set")
    within: Range = Field(None, description="a range of versions, `>=2.11,<2.12`")
    not_: "Condition | None" = Field(None, alias="not")
    any_: tuple["Condition", ...] = Field((), alias="any")

    makers = {
        "in_": lambda values: values and tuple(values),
        "not_": lambda kept: kept and Condition.trusted(kept),
        "any_": lambda values: tuple(Condition.trusted(kept) for kept in values),
    }

    @model_validator(mode="after")
    def _is_one_question(self) -> Self:
        kinds = [kind for kind in self.model_fields_set.intersection(KINDS) if getattr(self, kind) is not None]
        operators = self.model_fields_set & OPERATORS
        if self.not_ or self.any_:
            if kinds or operators or (self.not_ and self.any_):
                raise ValueError("`not` and `any` stand alone")
        elif len(kinds) != 1 or len(operators) != 1:
            raise ValueError(f"one subject of {', '.join(KINDS)} and one of is, in, above, below, set, within")
        return self

    @cached_property
    def subject(self) -> str:
        """`kind:name`; empty for `not` and `any`."""
        return next((f"{kind}:{name}" for kind in KINDS if (name := getattr(self, kind)) is not None), "")

    def subjects(self) -> tuple[str, ...]:
        """All subjects asked, nested ones included, in the order of asking."""
        inner = (self.not_, *self.any_) if self.not_ else self.any_
        below = tuple(name for condition in inner if condition for name in condition.subjects())
        return (self.subject, *below) if self.subject else below


class Scope(Frozen):
    """Where the rule is known to hold; each entry is a condition like those under `when`."""

    engine: Range = Field(None, description="versions of the engine, `>=0.5.12,<0.5.20`")
    arch: tuple[str, ...] = Field((), description="exact compute capabilities, `sm_120`")
    family: tuple[str, ...] = Field((), description="model families, `deepseek-v4`")

    makers = {"arch": tuple, "family": tuple}


class Evidence(Frozen):
    """One source: how sure it makes us, where it can be read, and what was seen on what."""

    grade: Grade
    ref: Line = Field(description="address, or what was read (file and version)")
    date: str | None = None
    hardware: str | None = None
    versions: str | None = None
    saw: Line
    against: bool = Field(False, description="it contradicts the rule; both are shown")

    makers = {"grade": Grade}

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.hardware, self.versions, self.date) if part)
        word = f"against it, {self.grade}" if self.against else str(self.grade)
        return f"{word}{f' ({where})' if where else ''}: {self.saw} [{self.ref}]"


class Decision(Frozen):
    """A level that a person set although the evidence alone would not."""

    level: Level
    by: Line
    because: Line

    makers = {"level": Level}


class Example(Frozen):
    """A launch and facts, in short; a good example says only in what it differs from the bad one (None takes away)."""

    settings: Mapping[str, Any] = Field(default_factory=dict)
    env: Mapping[str, str | None] = Field(default_factory=dict)
    facts: Mapping[str, Any] = Field(default_factory=dict)
    profile: Mapping[str, Any] = Field(default_factory=dict)
    patches: Mapping[str, tuple[str, ...] | None] = Field(
        default_factory=dict, description="name of each patch, with the files that it changes"
    )
    version: str | None = None
    build: str | None = None


class Examples(Frozen):
    """The test of a rule: it finds something in `bad`, and nothing in any of `good`.

    `also_bad` and `good` say only in what they differ from `bad`.
    """

    bad: Example
    also_bad: tuple[Example, ...] = ()
    good: tuple[Example, ...] = Field(min_length=1)


class Rule(Frozen):
    """One file of the catalogue; `id` and `family` are its file name and its folder.

    `examples` is not there in a rule that is `trusted`: nobody but its test asks for them.
    """

    id: Slug
    family: Slug
    summary: Line
    severity: Severity
    when: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = Field((), description="what makes it void, if it is known to hold")
    scope: Scope = Scope.model_construct()
    at: str
    related: tuple[str, ...] = ()
    names: tuple[str, ...] = Field((), max_length=4)
    why: Line
    remedy: Line
    mechanism: Line | None = Field(None, description="how it goes wrong; lets one report carry an error")
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    stock: bool = Field(False, description="true of the stock engine; a patch may `provide` what it misses")
    stability: Literal["preview", "stable", "retired"] = "stable"
    fixed_in: str | None = None
    decision: Decision | None = None
    examples: Examples
    verdict: Verdict | None = Field(None, exclude=True)

    makers = {
        "severity": Severity,
        "when": _each(Condition.trusted),
        "unless": _each(Condition.trusted),
        "scope": Scope.trusted,
        "related": tuple,
        "names": tuple,
        "evidence": _each(Evidence.trusted),
        "decision": lambda kept: kept and Decision.trusted(kept),
    }

    @model_validator(mode="after")
    def _can_speak(self) -> Self:
        if not self.conditions and not self.verdict:
            raise ValueError("no condition under `scope` or `when`, and no Python file beside it")
        if all(source.against for source in self.evidence):
            raise ValueError("all evidence is against it")
        if (self.stability == "retired") != (self.fixed_in is not None):
            raise ValueError("`retired` and `fixed_in` belong together")
        return self

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All that must hold: the scope as conditions, then `when`."""
        scope = (
            self.scope.arch and {"fact": "arch", "in_": self.scope.arch},
            self.scope.family and {"trait": "family", "in_": self.scope.family},
            self.scope.engine and {"fact": "engine_version", "within": self.scope.engine},
        )
        return (*(Condition.trusted(kept) for kept in scope if kept), *self.when)

    def subjects(self) -> tuple[str, ...]:
        """Every subject that its conditions ask about, without repetition, in the order of asking."""
        asked = (*self.conditions, *self.unless)
        return tuple(dict.fromkeys(subject for condition in asked for subject in condition.subjects()))

    @property
    def grade(self) -> Grade:
        """The strongest grade of its evidence."""
        order = list(Grade)
        return min((source.grade for source in self.evidence if not source.against), key=order.index)
