"""Rules asked about one launch: clear, found, unknown, waived, provided."""

from typing import Any

import pytest

from dsv4deploy.model.diagnostic import Level, Report
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Launch, Provided, Setting
from dsv4deploy.model.place import Place
from dsv4deploy.model.rule import Ask, Found, Missing, Rule
from dsv4deploy.stages.check import Waiver, check, strict
from dsv4deploy.stages.effective import effective

AT = Place("p.yaml", 3, 7, 3, 9)


def rule(**given: Any) -> Rule:
    base = {
        "id": "tp-eight",
        "family": "own",
        "summary": "eight is too many",
        "severity": "crash",
        "when": [{"setting": "tp_size", "is": 8}],
        "at": "setting:tp_size",
        "why": "It breaks.",
        "remedy": "Set --tp-size 4.",
        "evidence": [{"grade": "confirmed", "ref": "https://example.invalid/1", "saw": "it broke"}],
        "examples": {"bad": {"settings": {"tp_size": 8}}, "good": [{"settings": {"tp_size": 4}}]},
    }
    return Rule.model_validate({**base, **given})


def asked(
    *rules: Rule,
    facts: Any = None,
    waivers: tuple[Waiver, ...] = (),
    provided: tuple[Provided, ...] = (),
    **written: Any,
) -> Report:
    settings = {dest: Setting(dest, value, f"--{dest.replace('_', '-')}", place=AT) for dest, value in written.items()}
    launch, known = Launch(None, settings, provided=provided), Facts.model_validate(facts or {})
    return check(launch, effective(launch, None, known), known, rules, waivers=waivers, today="2026-12-01")


def test_a_finding_has_its_place_names_evidence_and_remedy() -> None:
    (found,) = asked(rule(related=["env:NCCL_ALGO"]), tp_size=8).diagnostics
    assert (found.rule, found.level, found.place) == ("tp-eight", Level.ERROR, AT)
    assert found.names == ("--tp-size", "missing:NCCL_ALGO")
    assert found.label == "--tp-size is 8"
    assert found.evidence == ("confirmed: it broke [https://example.invalid/1]",)
    assert found.remedy == "Set --tp-size 4."


def test_a_label_says_what_takes_effect_where_it_is_something_else() -> None:
    one = rule(when=[{"setting": "page_size", "is": 256}], at="setting:page_size")
    (found,) = asked(one, page_size=64, facts={"model": {"model_type": "deepseek_v4"}}).diagnostics
    assert found.label == "--page-size is 64, in effect 256"


def test_a_single_no_outweighs_everything_unknown() -> None:
    one = rule(when=[{"fact": "arch", "is": "sm_120"}, {"setting": "tp_size", "is": 8}])
    assert asked(one, tp_size=4) == Report(looked_at=1)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"arch": "sm_120", "engine_version": "0.5.20", "model": {"model_type": "deepseek_v4"}}, "found"),
        ({"arch": "sm_90", "engine_version": "0.5.20", "model": {"model_type": "deepseek_v4"}}, "clear"),
        ({"arch": "sm_120", "engine_version": "0.5.21", "model": {"model_type": "deepseek_v4"}}, "clear"),
        ({"arch": "sm_120", "engine_version": "0.5.20", "model": {"model_type": "llama"}}, "clear"),
        ({"arch": "sm_120", "engine_version": "main", "model": {"model_type": "deepseek_v4"}}, "unknown"),
        ({"arch": "sm_90", "engine_version": "main"}, "clear"),
        ({"engine_version": "0.5.20"}, "unknown"),
    ],
)
def test_a_rule_speaks_within_its_scope_and_a_release_without_a_number_is_unknown(facts: Any, said: str) -> None:
    one = rule(scope={"arch": ["sm_120"], "family": ["deepseek-v4"], "engine": "<0.5.21"})
    report = asked(one, tp_size=8, facts=facts)
    assert (bool(report.diagnostics), bool(report.unknown)) == (said == "found", said == "unknown")
    assert not asked(one, tp_size=4, facts=facts).unknown, "a no outweighs what is unknown"


def test_unknown_names_only_the_facts_that_could_still_decide() -> None:
    one = rule(
        when=[{"fact": "arch", "is": "sm_120"}, {"fact": "torch", "is": "2.11"}, {"setting": "tp_size", "is": 8}]
    )
    (unknown,) = asked(one, tp_size=8, facts={"torch": "2.11"}).unknown
    assert unknown.needs == ("arch",)


def test_one_yes_of_several_is_enough_although_the_rest_is_unknown() -> None:
    one = rule(when=[{"any": [{"fact": "arch", "is": "sm_120"}, {"setting": "tp_size", "above": 4}]}])
    assert asked(one, tp_size=8).diagnostics


def test_the_alternative_that_stands_there_is_named_first_and_the_others_are_not() -> None:
    one = rule(
        when=[{"any": [{"setting": "page_size", "is": 1}, {"setting": "pp_size", "is": 2}]}],
        at="setting:page_size",
        related=["setting:pp_size"],
        names=["setting:page_size", "fact:arch"],
    )
    (found,) = asked(one, pp_size=2).diagnostics
    assert found.names == ("--pp-size", "fact:arch")
    assert (found.place, found.label) == (AT, "--pp-size is 2")


def test_alternatives_that_nobody_wrote_are_named_as_the_rule_says() -> None:
    one = rule(
        when=[{"any": [{"written": "page_size", "set": False}, {"written": "pp_size", "set": False}]}],
        names=["setting:page_size"],
    )
    (found,) = asked(one, tp_size=8).diagnostics
    assert found.names == ("missing:--page-size",)


def test_what_nobody_knows_voids_nothing() -> None:
    one = rule(unless=[{"fact": "engine_patched", "is": True}])
    assert asked(one, tp_size=8).diagnostics
    assert not asked(one, tp_size=8, facts={"engine_patched": True}).diagnostics


def test_texts_are_compared_as_versions() -> None:
    one = rule(when=[{"fact": "flashinfer", "below": "0.6.10"}], at="fact:flashinfer")
    assert asked(one, facts={"flashinfer": "0.6.9.post1"}).diagnostics
    assert not asked(one, facts={"flashinfer": "0.6.11"}).diagnostics


def test_python_says_what_data_cannot() -> None:
    def verdict(ask: Ask) -> Found | None:
        if ask("setting:tp_size") == 6:
            raise Missing("model.vocab_size")
        return Found("too odd", ("fact:gpu_count",)) if ask("setting:tp_size") % 2 else None

    one = rule(when=[], verdict=verdict)
    (found,) = asked(one, tp_size=7).diagnostics
    assert (found.message, found.names) == ("eight is too many: too odd", ("fact:gpu_count",))
    assert not asked(one, tp_size=8).diagnostics
    assert asked(one, tp_size=6).unknown[0].needs == ("model.vocab_size",)


def test_a_retired_rule_is_silent() -> None:
    assert asked(rule(stability="retired", fixed_in="0.5.20"), tp_size=8) == Report()


def test_a_family_taken_from_a_name_speaks_a_step_milder_and_says_so() -> None:
    one = rule(scope={"family": ["deepseek-v4"]})
    (found,) = asked(one, tp_size=8, model_path="deepseek-ai/DeepSeek-V4-Flash").diagnostics
    assert found.level is Level.WARNING
    assert "by its name alone" in found.evidence[-1]
    (sure,) = asked(one, tp_size=8, model_path="/models/x", facts={"model": {"model_type": "deepseek_v4"}}).diagnostics
    assert sure.level is Level.ERROR


def test_a_waiver_sets_a_finding_apart_with_its_reason() -> None:
    report = asked(rule(), tp_size=8, waivers=(Waiver("tp-eight", "measured", "2026-12-01"),))
    assert not report.diagnostics
    assert (report.waived[0].reason, report.waived[0].until) == ("measured", "2026-12-01")


def test_a_waiver_that_ran_out_waives_nothing_and_is_told() -> None:
    report = asked(rule(), tp_size=8, waivers=(Waiver("tp-eight", "measured", "2026-11-30"),))
    assert [found.rule for found in report.diagnostics] == ["tp-eight", "waiver"]


def test_a_waiver_that_matches_nothing_is_told() -> None:
    (found,) = asked(rule(), tp_size=4, waivers=(Waiver("tp-eight", "measured"),)).diagnostics
    assert (found.rule, found.level) == ("waiver", Level.WARNING)


def test_a_waiver_of_a_rule_that_does_not_exist_names_the_one_that_was_meant() -> None:
    _, told = asked(rule(), tp_size=8, waivers=(Waiver("tp-eigth", "measured"),)).diagnostics
    assert (told.rule, told.message) == ("waiver", "the waiver of tp-eigth allows nothing: no rule is called so")
    assert told.remedy == "did you mean tp-eight?"


def test_a_waiver_of_an_undecided_rule_is_kept() -> None:
    one = rule(when=[{"fact": "arch", "is": "sm_120"}])
    assert not asked(one, waivers=(Waiver("tp-eight", "measured"),)).diagnostics


def test_what_a_build_provides_silences_rules_about_stock_on_exactly_that_value() -> None:
    given = (Provided("patched", setting="tp_size", value=8),)
    assert not asked(rule(stock=True), tp_size=8, provided=given).diagnostics
    assert asked(rule(stock=True), tp_size=8, provided=given).waived[0].reason == "the build provides it: patched"
    assert asked(rule(), tp_size=8, provided=given).diagnostics
    other = rule(stock=True, when=[{"setting": "tp_size", "above": 2}])
    assert asked(other, tp_size=4, provided=given).diagnostics


def test_a_rule_about_stock_speaks_a_step_milder_of_a_patched_build() -> None:
    (found,) = asked(rule(stock=True), tp_size=8, facts={"engine_patched": True}).diagnostics
    assert found.level is Level.WARNING
    assert "the build is patched" in found.evidence[-1]
    (sure,) = asked(rule(), tp_size=8, facts={"engine_patched": True}).diagnostics
    assert sure.level is Level.ERROR


def test_strict_makes_warnings_errors() -> None:
    warned = asked(rule(severity="risk"), tp_size=8)
    assert not warned.blocks
    assert strict(warned).blocks
