"""Argument words and values for the flags of any release, right and wrong, for property tests."""

import json
from collections.abc import Sequence

from hypothesis import strategies as st

from dsv4deploy.model.flag import Catalogue, Flag
from dsv4deploy.model.launch import Json
from dsv4deploy.source.argv import spelled

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12).filter(
    lambda text: text != "--"
)
PLAIN_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ODD_WORDS = st.sampled_from(
    [
        "",
        "-",
        "--",
        "-1",
        "-1.5",
        "-x y",
        "--x y",
        "1k",
        "1Ki",
        "1.5Ki",
        "128K",
        "true",
        "None",
        "{}",
        "[1]",
        "NaN",
        "1_0",
        " 7 ",
    ]
)


def values(flag: Flag) -> st.SearchStrategy[Json]:
    """Values that `flag` can be made to hold by writing it."""
    match flag.action:
        case "store-true" | "store-false":
            return st.just(flag.action == "store-true")
        case "store-const":
            return st.just(flag.const)
        case "boolean-optional":
            return st.booleans()
        case "lora-paths":
            loras = st.fixed_dictionaries({"lora_name": TEXT, "lora_path": TEXT})
            plain = TEXT.map(str.strip).filter(lambda text: not text.startswith(("{", "-")))
            return st.lists(plain | loras, min_size=1, max_size=3).map(tuple)
        case _:
            return _stored(flag)


def _stored(flag: Flag) -> st.SearchStrategy[Json]:
    one = st.sampled_from(flag.choices) if flag.choices else _typed(flag)
    if flag.nargs not in {"*", "+"}:
        return one
    undashed = one.filter(lambda value: not str(value).startswith("-") or isinstance(value, int))
    return st.lists(undashed, min_size=flag.nargs == "+", max_size=3).map(tuple)


def _typed(flag: Flag) -> st.SearchStrategy[Json]:
    match flag.type:
        case "int" | "human-int":
            return st.integers(-(2**40), 2**40)
        case "float":
            # Written in decimals: argparse takes `-1e-05` for a flag, and so do we.
            return st.floats(allow_nan=False)
        case "json":
            return PLAIN_JSON
        case "json-list":
            return st.lists(PLAIN_JSON, max_size=3).map(tuple)
        case "graph-config":
            phases = {
                phase: st.dictionaries(st.sampled_from(keys), st.integers(0, 9), max_size=2)
                for phase, keys in (flag.keys or {}).items()
            }
            return st.fixed_dictionaries({}, optional=phases)
        case "nullable-str":
            return TEXT.filter(lambda text: text not in {"", "None"})
        case _:
            return TEXT


@st.composite
def command_lines(draw: st.DrawFn, catalogue: Catalogue) -> list[str]:
    """Command lines of a few flags: most of them right, some wrong in every way that people manage."""
    words = ["--model-path", "m"] if draw(st.integers(0, 9)) else []
    flags = st.sampled_from(sorted(catalogue.flags.values(), key=lambda flag: flag.name))
    for flag in draw(st.lists(flags, max_size=4)):
        words += draw(_written(flag))
    return words


@st.composite
def _written(draw: st.DrawFn, flag: Flag) -> Sequence[str]:
    name = draw(st.sampled_from(flag.names))
    how = draw(st.integers(0, 9))
    if how == 0:
        return [name, *draw(st.lists(ODD_WORDS, max_size=2))]
    if how == 1:
        # What two dashes mean there differs between versions of Python.
        return [f"{name}={draw(ODD_WORDS.filter(lambda word: word != '--'))}"]
    if how == 2:
        cut = draw(st.integers(3, len(name)))
        return [name[:cut], *draw(st.lists(ODD_WORDS, max_size=1))]
    if flag.action in {"ignore", "refuse"}:
        return [name]
    try:
        words = spelled(flag, draw(values(flag)))
    except ValueError:
        return [name]
    if how == 3 and len(words) == 2:
        return [f"{name}={words[1]}"]
    return words


def jsonable(value: Json) -> object:
    """`value` as the answer of a parser's process has it."""
    return json.loads(json.dumps(value))
