"""Layers over layers: the last word wins, and every value still knows where it was said."""

from collections.abc import Sequence

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.model.diagnostic import Diagnostic, Refused
from dsv4deploy.model.document import KeyPath, Merged
from dsv4deploy.source.document import load
from dsv4deploy.stages.resolve import resolve

BASE = """\
engine: {version: 0.5.21, venv: /opt/venv}
hardware:
  devices: [0, 1, 2, 3]
env:
  A: one
  "my.key": dotted
variants:
  fast:
    set:
      engine.version: 0.5.23
      compile: {mode: default}
  bare:
    set: {env: null}
"""
CHILD = "extends: base.yaml\nname: child\nhardware: {devices: [4, 5]}\nenv: {A: null, B: two}\n"


def merged(*texts: str, variants: Sequence[str] = (), sets: Sequence[str] = ()) -> Merged:
    names = ["base.yaml", "child.yaml", "grandchild.yaml"]
    return resolve([load(text.encode(), name) for text, name in zip(texts, names, strict=False)], variants, sets)


def refused(*texts: str, variants: Sequence[str] = (), sets: Sequence[str] = ()) -> tuple[Diagnostic, ...]:
    with pytest.raises(Refused) as refusal:
        merged(*texts, variants=variants, sets=sets)
    return refusal.value.diagnostics


def test_mappings_merge_deep_lists_and_values_replace_and_null_removes() -> None:
    result = merged(BASE, CHILD)
    assert result.tree == {
        "engine": {"version": "0.5.21", "venv": "/opt/venv"},
        "hardware": {"devices": [4, 5]},
        "env": {"my.key": "dotted", "B": "two"},
        "name": "child",
    }
    assert result.files == ("child.yaml", "base.yaml")
    assert result.variants == ("fast", "bare")


def test_every_value_knows_the_layer_that_had_the_last_word() -> None:
    result = merged(BASE, CHILD, variants=["fast"], sets=["env.B=three", "hardware.devices[1]=7"])
    places = {
        ("engine", "venv"): "base.yaml:1:33",
        ("engine", "version"): "base.yaml:10:23",
        ("compile", "mode"): "base.yaml:11:23",
        ("name",): "child.yaml:2:7",
        ("hardware", "devices", 0): "child.yaml:3:22",
        ("hardware", "devices", 1): "--set hardware.devices[1]=7:1:21",
        ("env", "my.key"): "base.yaml:6:13",
        ("env", "B"): "--set env.B=three:1:7",
    }
    assert {path: str(result.values[path]) for path in places} == places
    assert str(result.keys["engine", "version"]) == "base.yaml:10:7"
    assert str(result.keys["env", "B"]) == "--set env.B=three:1:1"
    assert result.written(("hardware", "devices", 1)) == "7"


def test_nothing_that_was_replaced_leaves_a_place_behind() -> None:
    result = merged(BASE, CHILD, variants=["bare"], sets=["hardware.devices=[9]"])
    assert set(result.values) == set(paths(result.tree))


def test_a_variant_later_on_the_line_wins_and_set_wins_over_both() -> None:
    text = "a: 0\nvariants: {x: {set: {a: 1, b: 1}}, y: {set: {a: 2}}}\n"
    assert merged(text, variants=["x", "y"]).tree == {"a": 2, "b": 1}
    assert merged(text, variants=["y", "x"], sets=["a=3"]).tree == {"a": 3, "b": 1}


def test_a_child_changes_one_variant_of_its_base_and_keeps_the_rest() -> None:
    child = "variants: {fast: {set: {compile: {mode: max-autotune}}}}\n"
    result = merged(BASE, child, variants=["fast"])
    assert result.tree["compile"] == {"mode": "max-autotune"}
    assert result.values["compile", "mode"].file == "child.yaml"
    assert result.values["engine", "version"].file == "base.yaml"


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("memory.fraction_static=0.6", ("memory", "fraction_static"), 0.6),
        ("hardware.devices=[0,1]", ("hardware", "devices"), [0, 1]),
        ("hardware.devices[4]=8", ("hardware", "devices", 4), 8),
        ("hardware.devices[0]=null", ("hardware", "devices", 0), None),
        ('env."my.key"=x', ("env", "my.key"), "x"),
        ('env."a=b"=c=d', ("env", "a=b"), "c=d"),
        ("engine={build: mine}", ("engine",), {"version": "0.5.21", "venv": "/opt/venv", "build": "mine"}),
        ("env.A=off", ("env", "A"), "off"),
        ('env.A=""', ("env", "A"), ""),
        ("env.A= spaced # comment", ("env", "A"), "spaced"),
        ("args.x.y=true", ("args", "x", "y"), True),
    ],
)
def test_set_takes_values_as_yaml(text: str, path: KeyPath, value: object) -> None:
    assert at(merged(BASE, sets=[text]).tree, path) == value


def test_set_null_removes() -> None:
    assert "env" not in merged(BASE, sets=["env=null"]).tree
    assert merged(BASE, sets=["env.A=null"]).tree["env"] == {"my.key": "dotted"}


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("memory", "set-path", "1:1"),
        ("=5", "set-path", "1:1"),
        ("a..b=5", "set-path", "1:1"),
        (".a=5", "set-path", "1:1"),
        ("[0]=5", "set-path", "1:1"),
        ("env.A=", "set-path", "1:1"),
        ("env.A=#1", "set-path", "1:1"),
        ("engine.version.major=5", "set-path", "1:1"),
        ("hardware.devices[9]=5", "set-path", "1:1"),
        ("hardware[0]=5", "set-path", "1:1"),
        ("hardware.devices.first=5", "set-path", "1:1"),
        ("variants.x=5", "set-path", "1:1"),
        ("extends=x", "set-path", "1:1"),
        ("env.A=010", "quote-it", "1:7"),
        ("env.A=[1", "yaml-syntax", "1:9"),
        ("env.A={a: 1, a: 2}", "duplicate-key", "1:14"),
    ],
)
def test_a_set_that_cannot_be_applied_points_into_its_own_text(text: str, rule: str, place: str) -> None:
    [found] = refused(BASE, sets=[text])
    assert (found.rule, str(found.place)) == (rule, f"--set {text}:{place}")
    assert found.remedy


def test_an_unknown_variant_names_the_nearest_and_all() -> None:
    [found] = refused(BASE, variants=["fats"])
    assert found.message == "there is no variant fats; did you mean fast?"
    assert found.remedy == "one of bare, fast"
    assert str(found.place) == "--variant fats:1:1"
    assert [str(related.place) for related in found.related] == ["base.yaml:7:1"]
    assert refused("a: 1\n", variants=["x"])[0].remedy == "the profile offers none: leave it out"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("variants: [a]\n", "1:11"),
        ("variants: {a: }\n", "1:15"),
        ("variants: {a: {sett: {}}}\n", "1:15"),
        ("variants: {a: {set: {}, more: 1}}\n", "1:15"),
        ("variants: {a: {set: [1]}}\n", "1:15"),
    ],
)
def test_a_malformed_variant_is_found_even_if_nobody_selects_it(text: str, place: str) -> None:
    [found] = refused(text)
    assert (found.rule, str(found.place)) == ("variant-shape", f"base.yaml:{place}")


def test_a_variant_that_sets_no_path_is_refused_where_it_says_so() -> None:
    [found] = refused("variants: {a: {set: {'x[': 1}}}\n", variants=["a"])
    assert (found.rule, str(found.place)) == ("set-path", "base.yaml:1:22")


def test_all_layers_that_cannot_be_laid_are_told_at_once() -> None:
    found = refused(BASE, variants=["x", "y"], sets=["env.A=010", "a", "env.B=1"])
    assert [one.rule for one in found] == ["set-path", "quote-it", "unknown-variant", "unknown-variant"]


def test_the_documents_are_left_as_they_were() -> None:
    base = load(BASE.encode(), "base.yaml")
    before = repr(base)
    resolve([base, load(CHILD.encode(), "child.yaml")], ["fast"], ["hardware.devices[0]=9", "engine.venv=x"])
    assert repr(base) == before


KEYS = st.sampled_from("abc")
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        st.integers(0, 9) | st.none(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


@given(st.lists(TREES, min_size=1, max_size=3))
def test_every_value_of_a_merge_stands_where_its_place_says(trees: list[object]) -> None:
    texts = [yaml.safe_dump(tree, default_flow_style=True, width=10_000) for tree in trees]
    result = merged(*texts)
    assert set(paths(result.tree)) == set(result.values)
    for path in result.values:
        if not isinstance(value := at(result.tree, path), dict):
            assert yaml.safe_load(result.written(path)) == value


def at(tree: object, path: KeyPath) -> object:
    for step in path:
        tree = tree[step]  # type: ignore[index]  # (a test that goes astray fails here)
    return tree


def paths(tree: object, above: KeyPath = ()) -> list[KeyPath]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [above, *(path for step, below in pairs for path in paths(below, (*above, step)))]


def test_a_set_whose_value_is_no_yaml_is_shown_as_it_was_typed() -> None:
    with pytest.raises(Refused) as caught:
        merged(BASE, sets=["server.port=["])
    assert ("server.port=[",) in caught.value.sources.values()
