"""The account of a launch: effective settings decide, and diagnostics stand where something was written."""

from collections.abc import Mapping

from dsv4deploy.model.effective import Effective, Outcome
from dsv4deploy.model.launch import Json, Launch, Setting
from dsv4deploy.model.place import Place
from dsv4deploy.stages.memory import account_of, fit
from tests.unit.stages.memory.cases import CARD

AT = Place("profile.yaml", 7, 5, 7, 9)
TOO_LARGE = CARD.model_copy(update={"model": CARD.model.model_copy(update={"weight_bytes": 10**12})})


def launched(**written: Json) -> Launch:
    settings = {dest: Setting(dest, value, f"--{dest.replace('_', '-')}", place=AT) for dest, value in written.items()}
    return Launch("0.5.21", settings)


def effective(values: Mapping[str, Json], needs: tuple[str, ...] = ()) -> Effective:
    return Effective({dest: Outcome(dest, value, needs=needs) for dest, value in values.items()})


def test_what_takes_effect_counts_and_what_was_written_is_shown() -> None:
    settings: dict[str, Json] = {"tp_size": 8, "mem_fraction_static": 0.9}
    account = account_of(launched(mem_fraction_static=0.5), effective(settings), TOO_LARGE)
    bare = fit("0.5.21", settings, TOO_LARGE)
    assert account.terms == bare.terms
    assert [told.place for told in account.diagnostics] == [AT]
    assert [told.place for told in bare.diagnostics] == [None]


def test_a_setting_that_nobody_can_tell_counts_as_not_given() -> None:
    account = account_of(launched(), effective({"tp_size": 8, "mem_fraction_static": 0.9}, ("arch",)), TOO_LARGE)
    assert account.terms == fit("0.5.21", {}, TOO_LARGE).terms
