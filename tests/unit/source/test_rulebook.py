"""A folder of rules is read whole or not at all."""

import hashlib
import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from dsv4deploy.model.diagnostic import Refused
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.rulebook import SHIPPED, catalogue, compiled, rulebook

GOOD = """\
summary: eight is too many
severity: crash
when:
  - {setting: tp_size, is: 8}
at: setting:tp_size
why: It breaks.
remedy: Set --tp-size 4.
evidence:
  - {grade: reported, ref: "https://example.invalid/1", date: 2026-01-02, saw: it broke with NCCL off}
examples:
  bad: {settings: {tp_size: 8}}
  good:
    - settings: {tp_size: 4}
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml").replace("_py", ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_the_name_of_a_file_is_the_id_and_its_folder_the_family(tmp_path: Path) -> None:
    one, two = rulebook(write(tmp_path, own__a_yaml=GOOD, b_yaml=GOOD))
    assert [(one.family, one.id), (two.family, two.id)] == [("own", "a"), ("own", "b")]


def test_dates_and_words_of_other_yaml_dialects_stay_text(tmp_path: Path) -> None:
    (one,) = rulebook(write(tmp_path, a_yaml=GOOD.replace("it broke with NCCL off", "off")))
    assert (one.evidence[0].date, one.evidence[0].saw) == ("2026-01-02", "off")


def test_python_beside_a_rule_is_its_verdict(tmp_path: Path) -> None:
    code = '"""Found."""\n\n\ndef verdict(ask):\n    return "always"\n'
    (one,) = rulebook(write(tmp_path, a_yaml=GOOD, a_py=code))
    assert one.verdict is not None
    assert one.verdict(lambda _: None) == "always"


@pytest.mark.parametrize(
    ("text", "told", "at"),
    [
        (GOOD[: GOOD.index("evidence:")] + GOOD[GOOD.index("examples:") :], "the rule lacks evidence", "1:1"),
        (GOOD.replace("severity: crash", "severity: crsh"), 'severity cannot be "crsh"; did you mean crash?', "2:11"),
        (GOOD + "colour: red\n", "unknown key colour", "14:1"),
        (GOOD + "why: again\n", "why is written twice", "14:1"),
        (GOOD.replace("is: 8", "is: 8, above: 4"), "when[0]: one subject of", "4:5"),
        (GOOD.replace("{setting: tp_size,", "{sett: tp_size,"), "unknown key sett in when[0]", "4:6"),
        (GOOD.replace("grade: reported", "grade: seen"), 'evidence[0].grade cannot be "seen"', "9:13"),
        (GOOD.replace("grade: reported", "grade: reported, against: true"), "all evidence is against it", "1:1"),
        (GOOD.replace("when:\n  - {setting: tp_size, is: 8}\n", ""), "no condition", "1:1"),
        ("- a list\n", "not a mapping at the top", "1:1"),
        ("a: [", "the text ends where a value is expected", "1:5"),
    ],
)
def test_a_rule_that_is_wrong_does_not_load_and_says_where_and_what_to_do(
    tmp_path: Path, text: str, told: str, at: str
) -> None:
    with pytest.raises(Refused) as refused:
        rulebook(write(tmp_path, a_yaml=text))
    [found] = [one for one in refused.value.diagnostics if told in one.message]
    assert str(found.place) == f"{tmp_path / 'a.yaml'}:{at}"
    assert found.remedy
    assert all("is a date" not in one.message for one in refused.value.diagnostics)


def test_items_that_do_not_fit_do_not_make_their_list_too_short(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        rulebook(write(tmp_path, a_yaml=GOOD.replace("grade: reported", "grade: seen")))
    assert len(refused.value.diagnostics) == 1


def test_the_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    wrong = GOOD.replace("severity: crash", "severity: bad")
    with pytest.raises(Refused) as refused:
        rulebook(write(tmp_path, a_yaml=wrong, b_yaml=GOOD, c_yaml=wrong))
    assert [one.place.file for one in refused.value.diagnostics if one.place] == [
        str(tmp_path / "a.yaml"),
        str(tmp_path / "c.yaml"),
    ]


def test_anything_else_in_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="is no rule"):
        rulebook(write(tmp_path, a_yaml=GOOD, b_py="x = 1\n"))


def test_one_id_stands_once(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="stands twice"):
        rulebook(write(tmp_path, one__a_yaml=GOOD, two__a_yaml=GOOD))


def test_python_that_does_not_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="does not load"):
        rulebook(write(tmp_path, a_yaml=GOOD, a_py="raise ValueError\n"))


def test_what_is_compiled_is_what_stands_in_the_files() -> None:
    """Field by field and type by type; only the test of a rule, its examples, is left in its file."""
    for kept, read in zip(catalogue(), rulebook(SHIPPED), strict=True):
        names = kept.model_fields_set
        assert names == read.model_fields_set - {"examples"}
        assert typed(kept) == typed(read)
        assert kept.conditions == read.conditions
        assert (kept.verdict is None) == (read.verdict is None)


def typed(value: object) -> object:
    """The value with the type of each of its parts."""
    if isinstance(value, BaseModel):
        names = value.model_fields_set - {"examples", "verdict"}
        return type(value), {name: typed(getattr(value, name)) for name in names}
    return type(value), [typed(part) for part in value] if isinstance(value, tuple) else value


def test_a_known_text_is_not_parsed_again_and_any_other_is(tmp_path: Path) -> None:
    write(tmp_path, a_yaml=GOOD, b_yaml=GOOD.replace("eight", "8"))
    digest = hashlib.blake2b(GOOD.encode(), digest_size=16).hexdigest()
    one, two = rulebook(tmp_path, {digest: {"summary": "known"}})
    assert (one.summary, two.summary) == ("known", "8 is too many")


def test_one_file_adds_a_rule_beside_the_compiled_ones(tmp_path: Path) -> None:
    shipped = SHIPPED / "memory"
    for path in shipped.iterdir():
        if path.is_file() and not path.name.startswith("__"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    before = rulebook(tmp_path, json.loads(compiled()))
    write(tmp_path, tomorrow_yaml=GOOD)
    after = rulebook(tmp_path, json.loads(compiled()))
    assert {rule.id for rule in after} - {rule.id for rule in before} == {"tomorrow"}
