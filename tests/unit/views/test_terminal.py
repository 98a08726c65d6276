"""The report as a person sees it: the right characters underlined, nothing hidden, nothing executed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.model.diagnostic import Diagnostic, Level, Related, Report, Unknown, Waived
from dsv4deploy.model.place import Place
from dsv4deploy.views.terminal import render, wants_color

SOURCES = {
    "p.yaml": ("name: x", "kernels: {moe_runner: auto}"),
    "b.yaml": (*[""] * 11, "  moe_kernel: alpha"),
    "--set a.b=yes": ("a.b=yes",),
}
MOE = Place("p.yaml", 2, 23, 2, 27)


def shown(one: Diagnostic, sources: dict[str, tuple[str, ...]] | None = None) -> list[str]:
    return render(Report((one,)), sources or SOURCES).splitlines()


def line_and_mark(line: str, start: int, end: int) -> tuple[str, str]:
    """The source line and the line below it, without the frame."""
    one = Diagnostic("r", Level.ERROR, "m", place=Place("f", 1, start, 1, end))
    lines = shown(one, {"f": (line,)})
    return lines[3].removeprefix(" 1 | "), lines[4].removeprefix("   | ")


def test_a_diagnostic_in_full() -> None:
    one = Diagnostic(
        "some-rule", Level.ERROR, "auto becomes x", (), MOE, "takes effect as x",
        (Related(Place("b.yaml", 12, 15, 12, 20), "chosen here"),),
        "crash after 4 minutes", ("confirmed: a", "reported: b"), "moe_runner: y\nor another",
    )  # fmt: skip
    assert (
        render(Report((one,)), SOURCES)
        == """\
error[some-rule]: auto becomes x
   --> p.yaml:2:23
    |
  2 | kernels: {moe_runner: auto}
    |                       ^^^^ takes effect as x
   ::: b.yaml:12:15
    |
 12 |   moe_kernel: alpha
    |               ----- chosen here
    = effect:   crash after 4 minutes
    = evidence: confirmed: a;
                reported: b
    = remedy:   moe_runner: y
                or another
    = more:     dsv4deploy explain some-rule

1 error, 0 warnings, 0 notes
"""
    )


def test_a_layer_of_the_command_line_is_shown_as_it_was_typed() -> None:
    one = Diagnostic("r", Level.ERROR, "m", place=Place("--set a.b=yes", 1, 5, 1, 8))
    assert shown(one)[1:5] == [
        "  --> the command line",
        "   |",
        "   | --set a.b=yes",
        "   |           ^^^",
    ]


def test_without_a_place_or_without_its_text_the_message_stands_alone() -> None:
    assert shown(Diagnostic("r", Level.NOTE, "m"))[:2] == ["note[r]: m", "   = more:     dsv4deploy explain r"]
    elsewhere = Diagnostic("r", Level.NOTE, "m", place=Place("gone.yaml", 4, 1, 4, 2), label="here")
    assert shown(elsewhere)[1:3] == ["  --> gone.yaml:4:1  here", "   = more:     dsv4deploy explain r"]


@pytest.mark.parametrize(
    ("line", "start", "end", "expected"),
    [
        ("a: b", 4, 5, ("a: b", "   ^")),
        ("a:", 3, 3, ("a:", "  ^")),
        ("漢字: 値", 5, 6, ("漢字: 値", "      ^^")),
        ("\ta:\tb", 5, 6, ("    a:    b", "          ^")),
        ("e\u0301x: b", 6, 7, ("e\u0301x: b", "    ^")),
        ("a\x1b[31m: b", 9, 10, ("a␛[31m: b", "        ^")),
        ("a\u202eb: c", 6, 7, ("a<U+202E>b: c", "            ^")),
        ("a: 😀😀", 4, 6, ("a: 😀😀", "   ^^^^")),
    ],
)
def test_the_mark_stands_below_its_characters(line: str, start: int, end: int, expected: tuple[str, str]) -> None:
    assert line_and_mark(line, start, end) == expected


def test_a_long_line_is_cut_around_the_mark() -> None:
    line = "".join(f"word{number} " for number in range(1000))
    start = line.index("word500") + 1
    text, mark = line_and_mark(line, start, start + 7)
    assert text.startswith("...")
    assert text.endswith("...")
    assert len(text) < 120
    assert text[len(mark) - 7 : len(mark)] == "word500"


def test_a_value_that_is_far_too_long_does_not_flood_the_terminal() -> None:
    word = "x" * 70_000
    one = Diagnostic("r", Level.ERROR, f"env.A is {word}", effect="many words " * 10_000, remedy=f"quote it: {word}")
    assert max(map(len, shown(one))) < 4_000
    assert any("quote it: xxx" in line for line in shown(one))


def test_a_place_over_several_lines_is_marked_on_its_first() -> None:
    one = Diagnostic("r", Level.ERROR, "m", place=Place("f", 1, 4, 2, 3))
    assert shown(one, {"f": ("a: [1,", "  2]")})[3:5] == [" 1 | a: [1,", "   |    ^^^"]


def test_the_gravest_comes_first_and_each_rule_is_explained_once() -> None:
    def at(level: Level, line: int) -> Diagnostic:
        return Diagnostic("r", level, level.value, place=Place("p.yaml", line, 1, line, 2))

    text = render(Report((at(Level.NOTE, 1), at(Level.ERROR, 2), at(Level.WARNING, 1), at(Level.ERROR, 1))), SOURCES)
    heads = [line for line in text.splitlines() if "[r]" in line]
    assert heads == ["error[r]: error", "error[r]: error", "warning[r]: warning", "note[r]: note"]
    assert text.index("p.yaml:1:1") < text.index("p.yaml:2:1")
    assert text.count("dsv4deploy explain r") == 1
    assert text.endswith("2 errors, 1 warning, 1 note\n")


def test_what_is_unknown_and_what_is_waived_is_told_and_counted() -> None:
    waived = Waived(Diagnostic("slow-thing", Level.WARNING, "m", place=MOE), "we\x1b[2Jknow", "2026-12-31")
    unknown = (Unknown("a", ("p2p", "iommu")), Unknown("b", ("iommu",)))
    assert (
        render(Report((), unknown, (waived,)), SOURCES, fine="p.yaml: fine")
        == """\
waived: slow-thing at p.yaml:2:23: we␛[2Jknow (until 2026-12-31)
unknown: 2 rules need facts (iommu, p2p): dsv4deploy facts -i INVENTORY --limit NODE, kept for --facts
p.yaml: fine
"""
    )
    text = render(Report((Diagnostic("r", Level.NOTE, "m"),), unknown, (waived,)), SOURCES)
    assert text.endswith("\n0 errors, 0 warnings, 1 note, 2 unknown, 1 waived\n")


def test_color_is_all_that_color_adds() -> None:
    report = Report((Diagnostic("r", Level.ERROR, "m", place=MOE, label="l", effect="e"),))
    plain, colored = render(report, SOURCES), render(report, SOURCES, color=True)
    assert "\x1b[" in colored
    stripped = colored
    for code in ("1;31", "1;33", "1;36", "1;34", "1", "0"):
        stripped = stripped.replace(f"\x1b[{code}m", "")
    assert stripped == plain


@pytest.mark.parametrize(
    ("environment", "is_terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_color_is_for_terminals_that_want_it(environment: dict[str, str], *, is_terminal: bool, wanted: bool) -> None:
    assert wants_color(environment, is_terminal=is_terminal) is wanted


@given(st.text(max_size=40), st.text(max_size=150), st.integers(1, 160), st.integers(0, 40), st.integers(0, 2))
def test_nothing_that_somebody_wrote_reaches_the_terminal_as_a_command(
    message: str, line: str, start: int, length: int, more: int
) -> None:
    place = Place("f\x1b]0;x", 1, start, 1 + more, start + length)
    one = Diagnostic(
        "r", Level.ERROR, message, (), place, message, (Related(place, message),), message, (message,), message
    )
    text = render(Report((one,), (), (Waived(one, message),)), {place.file: (line,)})
    assert not [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs")]


def test_a_secret_in_a_source_line_is_not_shown_and_the_signs_stay_in_place() -> None:
    line = "docker run -e HF_TOKEN=hf_0123456789abcdef img serve --tp four"
    text, signs = line_and_mark(line, line.index("four") + 1, len(line) + 1)
    assert "0123456789" not in text
    assert signs.index("^") == text.index("four")
