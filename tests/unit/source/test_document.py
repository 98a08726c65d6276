"""Loading tells exactly what was written and where, or refuses with a place, whatever bytes come."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dsv4deploy.model.diagnostic import Diagnostic, Refused
from dsv4deploy.model.document import Document, KeyPath
from dsv4deploy.model.place import Place
from dsv4deploy.source.document import MAX_BYTES, load, load_value
from dsv4deploy.source.nodes import FAST, MAX_DIAGNOSTICS, PURE, Reader
from dsv4deploy.source.scalars import Surprise, meaning

BOTH = pytest.mark.parametrize("reader", [FAST, PURE], ids=["fast", "pure"])


def refused(text: str | bytes, reader: Reader = FAST) -> tuple[Diagnostic, ...]:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(Refused) as refusal:
        load(data, "p.yaml", reader)
    return refusal.value.diagnostics


def outcome(data: bytes, reader: Reader) -> tuple[str, object]:
    """All that loading tells; anything but a refusal escapes and fails the test."""
    try:
        document = load_value(data, "p.yaml", reader)
    except Refused as refusal:
        return refusal.diagnostics[0].rule, refusal.diagnostics
    return "", (repr(document.tree), document.keys, document.values)


YAML_LIKE = st.text(alphabet=st.sampled_from("ab01:-?#&*!|>%@'\"\\[]{},.\n\r\t <~é漢_/"), max_size=60)


def underlined(document: Document, path: KeyPath, *, key: bool = False) -> str:
    return cut(document.lines, (document.keys if key else document.values)[path])


def cut(lines: tuple[str, ...], place: Place) -> str:
    inside = [*lines[place.line - 1 : place.end_line]]
    inside[-1] = inside[-1][: place.end_column - 1]
    inside[0] = inside[0][place.column - 1 :]
    return "\n".join(inside)


def test_the_machine_has_the_fast_reader() -> None:
    assert FAST is not PURE, "PyYAML without its C loader: the tests of both readers would compare one with itself"


@BOTH
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("false", False),
        *((word, word) for word in ("on", "off", "yes", "no", "y", "n", "True", "FALSE", "On")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("0.60", 0.6),
        (".5", 0.5),
        ("1.5E+3", 1500.0),
        ("0.5.13.post1", "0.5.13.post1"),
        ("127.0.0.1", "127.0.0.1"),
        ("30000:30000", "30000:30000"),
        ("0000:c1:00.0", "0000:c1:00.0"),
        ("GPU-1f2e", "GPU-1f2e"),
        ("'010'", "010"),
        ('"true"', "true"),
        ("!!str 010", "010"),
        ("--flag", "--flag"),
        ("=", "="),
        ("<<", "<<"),
        ("deepseek-v4", "deepseek-v4"),
    ],
)
def test_a_word_means_what_is_written(reader: Reader, written: str, value: object) -> None:
    loaded = load(f"key: {written}\n".encode(), "p.yaml", reader).tree
    assert repr(loaded) == repr({"key": value})


@BOTH
@pytest.mark.parametrize(
    ("written", "meaning"),
    [
        ("010", "octal"),
        ("0o17", "octal"),
        ("-007", "octal"),
        ("00.5", "octal"),
        ("0x1F", "hexadecimal"),
        ("0b11", "binary"),
        ("12:30:45", "base 60"),
        ("1:30", "base 60"),
        ("190:20:30.15", "base 60"),
        ("2026-12-31", "date"),
        ("2026-12-31T10:00:00Z", "date"),
        ("2026-12-31 10:00:00 +02:00", "date"),
        ("1_000", "underscores"),
        ("1_0.5", "underscores"),
        (".inf", "infinity"),
        ("-.INF", "infinity"),
        (".NaN", "not-a-number"),
        ("1.0e+999", "too large"),
        ("12e4567", "scientific"),
        ("1e-5", "scientific"),
        ("1.5e3", "scientific"),
        ("9223372036854775808", "too large"),
        ("9" * 5000, "too large"),
    ],
)
def test_a_word_that_readers_read_differently_is_to_be_quoted(reader: Reader, written: str, meaning: str) -> None:
    [found] = refused(f"key: {written}", reader)
    assert (found.rule, str(found.place)) == ("quote-it", "p.yaml:1:6")
    assert meaning in found.message
    assert f'"{written}"' in found.remedy
    assert load(f'key: "{written}"'.encode(), "p.yaml", reader).tree == {"key": written}


@BOTH
def test_anchors_aliases_and_merge_keys_point_to_the_anchor(reader: Reader) -> None:
    text = "base: &b {x: 1, y: &n two}\nchild:\n  <<: *b\n  x: 3\nmore:\n  <<: [*b, {x: 9, z: 4}]\nlist: [*n, *b]\n"
    document = load(text.encode(), "p.yaml", reader)
    assert document.tree == {
        "base": {"x": 1, "y": "two"},
        "child": {"x": 3, "y": "two"},
        "more": {"x": 1, "y": "two", "z": 4},
        "list": ["two", {"x": 1, "y": "two"}],
    }
    assert str(document.values["child", "x"]) == "p.yaml:4:6"
    assert str(document.values["child", "y"]) == str(document.values["base", "y"]) == "p.yaml:1:23"
    assert str(document.keys["more", "z"]) == "p.yaml:6:19"
    assert str(document.values["list", 0]) == "p.yaml:1:23"


@BOTH
def test_the_keys_on_and_off_are_keys(reader: Reader) -> None:
    assert load(b"on: off\nNCCL_X: off\n", "p.yaml", reader).tree == {"on": "off", "NCCL_X": "off"}


@BOTH
@pytest.mark.parametrize("text", ["a: 1\r\nb: {c: x}\r\n", "\ufeffa: 1\nb: {c: x}\n", "a: 1\rb: {c: x}\r"])
def test_line_ends_and_byte_order_marks_do_not_shift_places(reader: Reader, text: str) -> None:
    document = load(text.encode(), "p.yaml", reader)
    assert document.tree == {"a": 1, "b": {"c": "x"}}
    assert str(document.values["b", "c"]) == "p.yaml:2:8"
    assert document.lines[:2] == ("a: 1", "b: {c: x}")


@BOTH
def test_places_of_every_kind_of_value(reader: Reader) -> None:
    text = """plain: two words   # comment
quoted: 'it''s'
anchored: &a   "x"
tagged: !!str 5
block: |
  one
   two

# comment
folded: >-
  three
empty:
list:
  - 1
  -   {k: [v]}
wide: {漢字: 値, "a b": 𝄞}
last: &z
  deep
"""
    document = load(text.encode(), "p.yaml", reader)
    expected = {
        ("plain",): "two words",
        ("quoted",): "'it''s'",
        ("anchored",): '"x"',
        ("tagged",): "5",
        ("block",): "|\n  one\n   two",
        ("folded",): ">-\n  three",
        ("empty",): "",
        ("list",): "- 1\n  -   {k: [v]}",
        ("list", 1): "{k: [v]}",
        ("list", 1, "k"): "[v]",
        ("list", 1, "k", 0): "v",
        ("wide", "漢字"): "値",
        ("wide", "a b"): "𝄞",
        ("last",): "deep",
    }
    assert {path: underlined(document, path) for path in expected} == expected
    assert underlined(document, ("wide", "a b"), key=True) == '"a b"'
    assert underlined(document, ("wide", "漢字"), key=True) == "漢字"
    assert set(document.keys) == {path for path in document.values if path and isinstance(path[-1], str)}


@BOTH
@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("", "yaml-shape", "1:1"),
        ("# only a comment\n", "yaml-shape", "1:1"),
        ("- 1\n", "yaml-shape", "1:1"),
        ("text", "yaml-shape", "1:1"),
        ("a:\n\tb: 1\n", "yaml-syntax", "2:1"),
        ("a: 'x\n", "yaml-syntax", "2:1"),
        ("a: [1, 2\nb: 3\n", "yaml-syntax", "2:2"),
        ("a: {b: 1\n", "yaml-syntax", "2:1"),
        ("a: b: c\n", "yaml-syntax", "1:5"),
        ("a: 1\n  b: 2\n", "yaml-syntax", "2:4"),
        ("a: @b\n", "yaml-syntax", "1:4"),
        ('a: "\\q"\n', "yaml-syntax", "1:6"),
        ("a: !foo 1\n", "yaml-tag", "1:4"),
        ("a: !!python/object:os.system [x]\n", "yaml-tag", "1:4"),
        ("a: !!int 5\n", "yaml-tag", "1:4"),
        ("a: !!map {}\n", "yaml-tag", "1:4"),
        ("a: !e!x 5\n", "yaml-syntax", "1:4"),
        ("1: x\n", "yaml-key", "1:1"),
        ("true: x\n", "yaml-key", "1:1"),
        ("? [a]\n: x\n", "yaml-key", "1:3"),
        ("a: {{ b }}\n", "yaml-key", "1:5"),
        ("? \n: x\n", "yaml-key", "1:2"),
        ("010: x\n", "quote-it", "1:1"),
        ("a: *b\n", "yaml-alias", "1:4"),
        ("a: &a [*a]\n", "yaml-alias", "1:8"),
        ("a: &a {b: {<<: *a}}\n", "yaml-alias", "1:16"),
        ("a: {<<: 1}\n", "yaml-merge", "1:9"),
        ("a: {<<: [{b: 1}, 2]}\n", "yaml-merge", "1:18"),
        ("a: 1\n---\nb: 2\n", "yaml-documents", "2:1"),
        ("a: 1\0\n", "yaml-text", "1:5"),
        ("ä: 1\x1b[31m\n", "yaml-text", "1:5"),
        ("a: x\ufeffy\n", "yaml-text", "1:5"),
        ('a: "\\0"\n', "yaml-text", "1:4"),
        (b"\xff\xfea\0", "yaml-encoding", "1:1"),
        (b"\x1f\x8b\x08", "yaml-encoding", "1:1"),
        (b"a: 1\n\xc3\xa4: \xff\n", "yaml-encoding", "2:4"),
        (b"\xef\xbb\xbfa: \xff\n", "yaml-encoding", "1:4"),
        ("- " * 60, "too-deep", "1:101"),
        ("a: " + "[" * 60 + "]" * 60, "too-deep", "1:53"),
        ("a: " + "[" * 60, "too-deep", "1:53"),
        ("[" * 100_000, "too-deep", "1:51"),
        ("{a: " * 10_000, "too-deep", "1:201"),
    ],
)
def test_what_cannot_be_understood_is_refused_in_one_line_with_its_place(
    reader: Reader, text: str | bytes, rule: str, place: str
) -> None:
    [found] = refused(text, reader)
    assert (found.rule, str(found.place)) == (rule, f"p.yaml:{place}")
    assert "\n" not in found.message
    assert found.remedy


@given(YAML_LIKE)
@example("? [a]: ?")
def test_no_complaint_is_left_in_the_words_of_the_reader(text: str) -> None:
    rule, told = outcome(text.encode(), PURE)
    if rule == "yaml-syntax":
        assert isinstance(told, tuple)
        assert not [one for one in told if "not YAML" in one.message]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: *.txt", "& and * begin the name of an anchor, and this is none"),
        ('a: "b" c', "text after a value that has ended"),
        ("a: [1,", "the text ends where a value is expected"),
        ("a: 1\nb", "this line is no `key: value`"),
        ("a: >text", "| and > stand alone on their line, the text below them"),
        ("a: - b", "a list item cannot begin here"),
        ("a:\n  b: 1\n c: 2", "this does not line up with the lines above"),
    ],
)
def test_broken_yaml_is_told_in_plain_words(text: str, message: str) -> None:
    assert [one.message for one in refused(text)] == [message]


def test_a_key_written_twice_is_refused_with_both_places() -> None:
    [found] = refused("a: 1\nb: {c: 1, c: 2}\n")
    assert (found.rule, str(found.place)) == ("duplicate-key", "p.yaml:2:11")
    assert [str(related.place) for related in found.related] == ["p.yaml:2:5"]


def test_a_key_that_another_spelling_repeats_is_a_duplicate() -> None:
    assert [found.rule for found in refused("\"a\": 1\na: 2\n'a': 3\n")] == ["duplicate-key", "duplicate-key"]


def test_everything_wrong_is_told_at_once_and_in_reading_order() -> None:
    found = refused("a: 010\nb: !x 1\na: 2\n1: x\nc: [\n")
    assert [(one.rule, one.place.line if one.place else 0) for one in found] == [
        ("quote-it", 1), ("yaml-tag", 2), ("yaml-syntax", 6),
    ]  # fmt: skip


def test_a_file_full_of_mistakes_gives_a_bounded_answer() -> None:
    assert len(refused("a:\n" + "  - 010\n" * 5000)) == MAX_DIAGNOSTICS


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


HOSTILE: dict[str, Callable[[], bytes]] = {
    "bomb": lambda: bomb(12, 10).encode(),
    "merge bomb": lambda: b"a0: &a0 {k: v}\n" + "".join(
        f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
    ).encode(),
    "chain": lambda: b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (n, n, n - 1) for n in range(1, 5000)),
    "brackets": lambda: b"[" * MAX_BYTES,
    "braces": lambda: b"{" * MAX_BYTES,
    "open mappings": lambda: b"{a: " * (MAX_BYTES // 4),
    "dashes": lambda: b"- " * (MAX_BYTES // 2),
    "question marks": lambda: b"? " * (MAX_BYTES // 2),
    "many keys": lambda: b"".join(b"k%d: 1\n" % n for n in range(30_000))[:MAX_BYTES],
    "one long word": lambda: b"a: " + b"x" * (MAX_BYTES - 3),
    "long number": lambda: b"a: " + b"9" * (MAX_BYTES - 3),
    "long almost-date": lambda: b"a: 2026-12-31" + b" " * (MAX_BYTES - 14) + b"x",
    "long key": lambda: b"x" * (MAX_BYTES - 4) + b": 1",
    "open quote": lambda: b'a: "' + b"x " * (MAX_BYTES // 2 - 4),
    "fifty megabytes": lambda: b"a: 1\n" * 10_000_000,
}  # fmt: skip


@pytest.mark.parametrize("reader", ["FAST", "PURE"])
def test_hostile_texts_are_answered_in_bounded_time_and_memory(reader: str) -> None:
    """All of them in one process with 20 s of CPU and 1 GiB; the process dies if one takes more."""
    program = f"""
import resource, runpy
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
resource.setrlimit(resource.RLIMIT_STACK, (2**20, 2**20))
tests = runpy.run_path({__file__!r})
for name, make in tests["HOSTILE"].items():
    try:
        tests["load"](make(), name, tests["{reader}"])
        print(name, "loaded")
    except tests["Refused"] as refusal:
        print(name, refusal.diagnostics[0].rule)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    answers = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert answers == {
        "bomb": "too-large",
        "merge bomb": "too-large",
        "chain": "too-deep",
        "brackets": "too-deep",
        "braces": "too-deep",
        "open mappings": "too-deep",
        "dashes": "too-deep",
        "question marks": "too-deep",
        "many keys": "too-large",
        "one long word": "loaded",
        "long number": "quote-it",
        "long almost-date": "loaded",
        "long key": "yaml-syntax",
        "open quote": "yaml-syntax",
        "fifty megabytes": "too-large",
    }


@given(st.binary(max_size=200) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace")))
def test_whatever_the_bytes_loading_answers_or_refuses(data: bytes) -> None:
    outcome(data, FAST)


@settings(max_examples=400)
@given(YAML_LIKE)
@example("a: &x\n- *x")
@example("a: |\n\n\n")
@example("? a")
@example("!:!")
@example("0\t")
def test_both_readers_tell_the_same(text: str) -> None:
    """The fast one lets some broken syntax pass (`>#`); nothing else may differ."""
    fast, pure = outcome(text.encode(), FAST), outcome(text.encode(), PURE)
    assert fast == pure or (fast[0], pure[0]) == ("", "yaml-syntax")


def is_one_thing_to_all(text: str) -> bool:
    return not isinstance(meaning(text), Surprise)


def test_loading_does_not_wait_for_pydantic() -> None:
    program = "import sys, dsv4deploy.source.document, dsv4deploy.stages.resolve; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


SCALARS = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff"), max_size=12
).filter(is_one_thing_to_all)  # fmt: skip
KEYS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=6).filter(
    is_one_thing_to_all
)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
    ),
    max_size=4,
)


@given(TREES, st.sampled_from([None, True, False]))
def test_what_yaml_writes_is_read_back_and_every_place_shows_its_own_text(tree: object, flow: bool | None) -> None:
    text = yaml.safe_dump(tree, allow_unicode=True, default_flow_style=flow, sort_keys=False)
    document = load(text.encode(), "p.yaml")
    assert document.tree == tree
    for path, place in document.values.items():
        assert read_alone(document, place) == at(document.tree, path)
    for path, place in document.keys.items():
        assert read_alone(document, place) == path[-1]


def read_alone(document: Document, place: Place) -> object:
    """What stands at `place`, as if nothing stood around it; blocks need to keep their first column."""
    return load_value((" " * (place.column - 1) + cut(document.lines, place)).encode(), "alone").tree


def at(tree: object, path: KeyPath) -> object:
    for step in path:
        tree = tree[step]  # type: ignore[index]  # (the path comes from this very tree)
    return tree
