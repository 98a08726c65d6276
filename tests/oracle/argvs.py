"""Argument words and values for the flags of any release, right and wrong, for property tests."""

import json
from collections.abc import Sequence

from hypothesis import strategies as st

from dsv4deploy.model.flag import Catalogue, Flag
from dsv4deploy.model.launch import Json
from dsv4deploy.source.argv import spelled

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12).filter(
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


def _typed(flag: Flag) -> st.SearchStrategy[Json]:  # noqa: PLR0911 (one a type)
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


def _written(flag: Flag) -> st.SearchStrategy[Sequence[str]]:
    """Words for one flag: well written most of the time."""
    name = st.sampled_from(flag.names)
    odd = st.lists(ODD_WORDS, max_size=2)
    # What two dashes mean behind `=` differs between versions of Python.
    joined = ODD_WORDS.filter(lambda word: word != "--")
    right = _spelled(flag)
    return st.one_of(
        *[right] * 6,
        st.builds(lambda name, words: [name, *words], name, odd),
        st.builds(lambda name, word: [f"{name}={word}"], name, joined),
        st.builds(lambda name, cut, words: [name[:cut], *words], name, st.integers(3, 40), odd),
        st.builds(lambda name, words: [f"{name}={words[1]}"] if len(words) == 2 else words, name, right),
    )


def _spelled(flag: Flag) -> st.SearchStrategy[Sequence[str]]:
    if flag.action in {"ignore", "refuse"}:
        return st.just([flag.name])
    return values(flag).map(lambda value: spelled(flag, value))


def jsonable(value: Json) -> object:
    """`value` as the answer of a parser's process has it."""
    return json.loads(json.dumps(value))
