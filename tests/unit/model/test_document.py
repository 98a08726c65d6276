"""Paths into a tree can be typed back, and a value can be shown as it was written."""

import pytest

from dsv4deploy.model.document import KeyPath, Merged, dotted
from dsv4deploy.model.place import Place


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("memory", "fraction_static"), "memory.fraction_static"),
        (("hardware", "devices", 0), "hardware.devices[0]"),
        (("env", "my.key", 1, 2), 'env."my.key"[1][2]'),
        (("env", ""), 'env.""'),
    ],
)
def test_a_path_is_written_as_set_takes_it(path: KeyPath, text: str) -> None:
    assert dotted(path) == text


def test_a_value_is_shown_letter_by_letter() -> None:
    places: dict[KeyPath, Place] = {("a",): Place("p.yaml", 1, 4, 1, 8), ("b",): Place("p.yaml", 1, 4, 2, 1)}
    merged = Merged({"a": 0.6, "b": 1}, values=places, sources={"p.yaml": ("a: 0.60 # c", "")})
    assert [merged.written(("a",)), merged.written(("b",)), merged.written(("c",))] == ["0.60", "", ""]


def test_what_nobody_wrote_stands_where_its_surroundings_stand() -> None:
    outer, inner = Place("p.yaml", 1, 1, 9, 1), Place("p.yaml", 3, 3, 4, 9)
    merged = Merged({}, values={(): outer, ("a",): inner})
    assert merged.place(("a", "b", 0)) == inner
    assert merged.place(("x",)) == outer
    assert Merged({}).place(("x",)) is None


def test_every_single_value_has_its_path() -> None:
    merged = Merged({"a": {"b": 1, "c": {}}, "d": ["x", {"e": None}]})
    assert merged.leaves() == {"a.b": 1, "d[0]": "x", "d[1].e": None}
