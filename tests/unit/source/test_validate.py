"""What does not fit a model is told in its place, in words for the person who wrote it."""

import sys
from enum import Enum
from typing import Annotated, Any, Literal, Self

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from dsv4deploy.model.diagnostic import Diagnostic, Refused
from dsv4deploy.model.document import Merged
from dsv4deploy.source.document import load
from dsv4deploy.source.validate import fitting, validate
from dsv4deploy.stages.resolve import resolve


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Color(Enum):
    RED = "red"
    GREEN = "green"


class Venv(Section):
    kind: Literal["venv"] = "venv"
    path: str
    prefix: str = ""


class Image(Section):
    kind: Literal["image"] = "image"
    digest: str
    venv: int = 0


class Memory(Section):
    fraction: float = Field(0.5, gt=0, lt=1, description="share of GPU memory. More is said elsewhere")
    timeout: Annotated[int, Field(ge=1, le=3600)] | None = Field(None, json_schema_extra={"unit": "seconds"})
    step: int = Field(8, multiple_of=8)


class Top(Section):
    name: str = Field("x", pattern="^[a-z]+$", max_length=5)
    tp: int = 1
    ratio: float = 1.0
    on: bool = False
    mode: Literal["default", "max-autotune"] = "default"
    single: Literal["one"] = "one"
    color: Color = Color.RED
    backend: Literal["auto"] | int = "auto"
    scalar: int | str = 1
    memory: Memory = Memory()
    runtime: Annotated[Venv | Image, Field(discriminator="kind")] | None = None
    either: Venv | Image | None = None
    nodes: tuple[Memory, ...] = ()
    devices: list[int] = []
    small: list[Annotated[int, Field(le=255)]] = []
    pair: tuple[int, int] = (0, 0)
    env: dict[Annotated[str, StringConstraints(pattern="^[A-Z_]+$")], str | int] = {}
    groups: dict[str, Memory] = {}
    alias: int = Field(1, alias="shown-as")

    @field_validator("name")
    @classmethod
    def _no_swearing(cls, name: str) -> str:
        if name == "damn":
            raise ValueError("mind your language")
        return name

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.tp == 13:
            raise ValueError("thirteen brings no luck")
        return self


def refused(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(Refused) as refusal:
        validate(resolve([load(text.encode(), "p.yaml")]), Top)
    assert refusal.value.sources == {"p.yaml": tuple(text.split("\n"))}
    return refusal.value.diagnostics


def test_what_fits_becomes_an_instance() -> None:
    text = "tp: 4\nratio: 1\nnodes: [{step: 16}]\ncolor: green\nruntime: {kind: image, digest: d}\nshown-as: 2\n"
    top = validate(resolve([load(text.encode(), "p.yaml")]), Top)
    assert top == Top.model_validate(yaml.safe_load(text) | {"nodes": ({"step": 16},)})


@pytest.mark.parametrize(
    ("text", "place", "rule", "message", "remedy"),
    [
        ("tp: '4'", "1:5", "wrong-type", 'tp: expected a whole number, got the string "4"', "remove the quotes: 4"),
        ("tp: four", "1:5", "wrong-type", 'tp: expected a whole number, got the string "four"', "write a whole number"),
        ("tp: 4.0", "1:5", "wrong-type", "tp: expected a whole number, got the number 4.0", "write 4"),
        ("tp: true", "1:5", "wrong-type", "tp: expected a whole number, got the boolean true", "write a whole number"),
        ("tp: [4]", "1:5", "wrong-type", "tp: expected a whole number, got a list", "write a whole number"),
        ("tp:", "1:4", "wrong-type", "tp: expected a whole number, got nothing", "write a value, or remove the line"),
        ("on: yes", "1:5", "wrong-type", 'on: expected true or false, got the string "yes"', "write true"),
        ("on: OFF", "1:5", "wrong-type", 'on: expected true or false, got the string "OFF"', "write false"),
        ("on: 1", "1:5", "wrong-type", "on: expected true or false, got the number 1", "write true or false"),
        ("name: 1.50", "1:7", "wrong-type", "name: expected a string, got the number 1.5", 'quote it: "1.50"'),
        ("name: true", "1:7", "wrong-type", "name: expected a string, got the boolean true", 'quote it: "true"'),
        ("ratio: '.5'", "1:8", "wrong-type", 'ratio: expected a number, got the string ".5"', "remove the quotes: .5"),
        ("devices: 3", "1:10", "wrong-type", "devices: expected a list, got the number 3", "write [3]"),
        ("devices: [1, x]", "1:14", "wrong-type", 'devices[1]: expected a whole number, got the string "x"', "write a whole number"),
        ("memory: 5", "1:9", "wrong-type", "memory: expected a mapping, got the number 5", "write a mapping of fraction, step, timeout"),
        ("env: [A]", "1:6", "wrong-type", "env: expected a mapping, got a list", "write a mapping"),
        ("env: {A: [1]}", "1:10", "wrong-type", "env.A: expected a string or a whole number, got a list", "write a string or a whole number"),
        ("env: {A: 0.10}", "1:10", "wrong-type", "env.A: expected a string or a whole number, got the number 0.1", 'quote it: "0.10"'),
        ("backend: 1.5", "1:10", "wrong-type", "backend: expected auto or a whole number, got the number 1.5", "write auto or a whole number"),
        ("backend: atuo", "1:10", "invalid-value", 'backend cannot be "atuo"; did you mean auto?', "write auto or a whole number"),
        ("mode: max_autotune", "1:7", "invalid-value", 'mode cannot be "max_autotune"; did you mean max-autotune?', "one of default, max-autotune"),
        ("single: two", "1:9", "invalid-value", 'single cannot be "two"', "write one"),
        ("color: gren", "1:8", "invalid-value", 'color cannot be "gren"; did you mean green?', "one of green, red"),
        ("memory: {fraction: 1.50}", "1:20", "out-of-range", "memory.fraction is 1.50, out of range: above 0, below 1", "write a number above 0, below 1"),
        ("memory: {timeout: 0}", "1:19", "out-of-range", "memory.timeout is 0, out of range: at least 1, at most 3600 (seconds)", "write a number at least 1, at most 3600"),
        ("small: [1, 300]", "1:12", "out-of-range", "small[1] is 300, out of range: at most 255", "write a number at most 255"),
        ("memory: {step: 9}", "1:16", "invalid-value", "memory.step is 9: it must be a multiple of 8", "dsv4deploy explain memory.step says what it takes"),
        ("name: ABC", "1:7", "invalid-value", 'name is "ABC": it must match ^[a-z]+$', "dsv4deploy explain name says what it takes"),
        ("name: abcdef", "1:7", "invalid-value", 'name is "abcdef": at most 5 characters are possible', "dsv4deploy explain name says what it takes"),
        ("name: damn", "1:7", "invalid-value", 'name is "damn": mind your language', "dsv4deploy explain name says what it takes"),
        ("tp: 13", "1:1", "invalid-value", "the profile: thirteen brings no luck", "dsv4deploy schema says what it takes"),
        ("pair: [1]", "1:7", "invalid-value", "pair[1]: an item is missing", "dsv4deploy explain pair[1] says what it takes"),
        ("pair: [1, 2, 3]", "1:7", "invalid-value", "pair: at most 2 items are possible, 3 given", "dsv4deploy explain pair says what it takes"),
        ("env: {'a b': 1}", "1:7", "invalid-key", 'env cannot have the key "a b": it must match ^[A-Z_]+$', "dsv4deploy explain env says what it takes"),
        ("memory: {fractoin: 1}", "1:10", "unknown-key", "unknown key fractoin in memory; did you mean fraction?", "known here: fraction, step, timeout"),
        ("nodes: [{}, {stepp: 1}]", "1:14", "unknown-key", "unknown key stepp in nodes[1]; did you mean step?", "known here: fraction, step, timeout"),
        ("groups: {a: {zzz: 1}}", "1:14", "unknown-key", "unknown key zzz in groups.a", "known here: fraction, step, timeout"),
        ("runtime: {path: x}", "1:1", "missing-key", "runtime lacks kind", "add `kind:`"),
        ("runtime: {kind: vnev}", "1:17", "invalid-value", 'runtime.kind cannot be "vnev"; did you mean venv?', "one of image, venv"),
        ("runtime: {kind: venv}", "1:1", "missing-key", "runtime lacks path", "add `path:`"),
        ("runtime: {kind: image, digest: 5}", "1:32", "wrong-type", "runtime.digest: expected a string, got the number 5", 'quote it: "5"'),
        ("runtime: {kind: image, digest: d, venv: x}", "1:41", "wrong-type", 'runtime.venv: expected a whole number, got the string "x"', "write a whole number"),
        ("either: 5", "1:9", "wrong-type", "either: expected a mapping, got the number 5", "write a mapping"),
        ("either: {digest: 5}", "1:18", "wrong-type", "either.digest: expected a string, got the number 5", 'quote it: "5"'),
        ("either: {digest: d, venv: x}", "1:27", "wrong-type", 'either.venv: expected a whole number, got the string "x"', "write a whole number"),
        ("either: {kind: venv, path: 5}", "1:28", "wrong-type", "either.path: expected a string, got the number 5", 'quote it: "5"'),
    ],
)  # fmt: skip
def test_each_misfit_is_one_diagnostic(text: str, place: str, rule: str, message: str, remedy: str) -> None:
    [found] = refused(text)
    assert (str(found.place), found.rule, found.message, found.remedy) == (f"p.yaml:{place}", rule, message, remedy)


def test_an_unknown_key_at_the_top_lists_what_is_known_there_by_its_shown_name() -> None:
    [found] = refused("alias: 3\n")
    assert found.message == "unknown key alias"
    assert "shown-as" in found.remedy
    assert found.remedy.split(": ")[1].split(", ") == sorted(found.remedy.split(": ")[1].split(", "))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`type X = ...` is a statement of Python 3.12")
def test_a_type_statement_is_looked_through() -> None:
    names: dict[str, Any] = {"Memory": Memory, "Section": Section}
    exec("type Named = Memory\nclass Top(Section):\n    memory: Named", names)  # noqa: S102 (older Pythons cannot parse it)
    with pytest.raises(Refused) as refusal:
        validate(resolve([load(b"memory: {fractoin: 1}", "p.yaml")]), names["Top"])
    assert "did you mean fraction?" in refusal.value.diagnostics[0].message


def test_the_meaning_of_a_field_stands_under_its_value() -> None:
    assert refused("memory: {fraction: 2}")[0].label == "share of GPU memory"


def test_everything_is_told_at_once_in_reading_order() -> None:
    found = refused("tp: x\nmemory:\n  fractoin: 1\n  step: 9\nzzz: 1\non: yes\n")
    assert [one.place.line if one.place else 0 for one in found] == [1, 3, 4, 5, 6]


def test_a_value_from_another_layer_is_told_where_it_was_said() -> None:
    base = load(b"memory: {fraction: 2}\n", "base.yaml")
    child = load(b"extends: base.yaml\nvariants: {v: {set: {memory.step: 9}}}\n", "p.yaml")
    with pytest.raises(Refused) as refusal:
        validate(resolve([base, child], ["v"], ["tp=x"]), Top)
    assert [str(one.place) for one in refusal.value.diagnostics] == [
        "--set tp=x:1:4", "base.yaml:1:20", "p.yaml:2:35",
    ]  # fmt: skip


KEYS = st.sampled_from([*Top.model_fields, *Venv.model_fields, *Image.model_fields, *Memory.model_fields, "zzz", "A"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5000) | st.sampled_from([0.5, 1.5, "venv", "image", "auto", "x", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_whatever_is_written_is_accepted_or_told_in_one_line_at_a_place_that_holds_it(tree: object) -> None:
    merged = resolve([load(yaml.safe_dump(tree, sort_keys=False).encode(), "p.yaml")])
    written = {*merged.keys.values(), *merged.values.values()}
    for found in misfits(merged):
        assert "\n" not in found.message
        assert found.place in written


def misfits(merged: Merged) -> tuple[Diagnostic, ...]:
    try:
        validate(merged, Top)
    except Refused as refusal:
        return refusal.diagnostics
    return ()


class Part(Section):
    path: Annotated[str, StringConstraints(pattern="^/")]
    size: int = 1


class Whole(Section):
    name: str
    part: Part
    more: tuple[Part, ...] = ()
    words: dict[Annotated[str, StringConstraints(pattern="^[A-Z]+$")], str] = {}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("{name: a, part: {path: /p, size: big}}", {"name": "a", "part": {"path": "/p", "size": 1}}),
        ("{name: a, nam: b, part: {path: p, size: 2}}", {"name": "a", "part": {"path": "/x", "size": 2}}),
        ("{part: {size: 2}}", {"name": "x", "part": {"path": "/x", "size": 2}}),
        ("{name: 1, part: {path: /p}, more: [{path: /q}, 3, {path: /r}]}", {"name": "x", "more": ["/q", "/r"]}),
        ("{name: a, part: {path: /p}, words: {ok: a, OK: b, NO: []}}", {"words": {"OK": "b", "NO": "x"}}),
    ],
)
def test_what_fits_is_left_of_what_does_not(text: str, left: dict[str, Any]) -> None:
    found = fitting(resolve((load(text.encode(), "f"),)), Whole)
    assert found
    plain = found.model_dump()
    plain["more"] = [one["path"] for one in plain["more"]]
    assert {key: plain[key] for key in left} == left


@pytest.mark.parametrize("text", ["{name: a}", "{name: a, part: [1]}", "{}"])
def test_nothing_is_left_where_a_whole_section_is_missing(text: str) -> None:
    assert fitting(resolve((load(text.encode(), "f"),)), Whole) is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "part", "more", "path", "size", "words", "A", "b"]), inner, max_size=4
            )
        ),
        max_leaves=8,
    )
)
def test_leaving_out_comes_to_an_end_whatever_is_written(tree: Any) -> None:
    found = fitting(Merged(tree if isinstance(tree, dict) else {"name": tree}), Whole)
    assert found is None or found.name
