"""What a mark covers, what it says where the stack differs, and what it never holds."""

from dataclasses import replace
from typing import Any

import pytest
from house import Written, knowledge, looked

from dsv4deploy.flow import Asked, Looked, looked_at
from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.mark import Mark
from dsv4deploy.rim.marks import text
from dsv4deploy.stages.check import Waiver
from dsv4deploy.stages.marks import INFRASTRUCTURE, key_of, mark_of, marked, with_sightings, worth_a_mark

PROFILE = """
name: flash
engine: {version: 0.5.23, venv: /opt/sglang}
model: {path: /models/DeepSeek-V4-Flash, facts: {model_type: deepseek_v4}}
hardware: {arch: sm_120, devices: [0, 1, 2, 3]}
parallel: {tp: 4}
compile: {torch_compile: true}
env: {SGLANG_TOGGLE: 1, HF_TOKEN: canary-variable-1}
server: {port: 30000}
"""
RULE = "torch-compile-in-capture-dsv4"
HOST = Facts(driver="580.95.05", torch="2.11.0")
FAILED = {
    "state": "failed",
    "class": "stream-capture",
    "stage": "capture",
    "root": "torch.AcceleratorError: dependency created on uncaptured work in another stream",
    "lines": ["one", "two"],
    "digest": "3f9c1a" + "0" * 58,
}


def seen(*sets: str, facts: Facts = HOST, profile: str = PROFILE) -> Looked:
    asked = Asked("profile.yaml", (), sets, facts, (Waiver(RULE, "to be sure"),))
    return looked_at(Written({"profile.yaml": profile}), knowledge(), asked)


def failed(looked: Looked, at: str = "2026-11-29T15:20:11Z", **answer: Any) -> Mark:
    return mark_of(looked.candidate, {**FAILED, **answer}, looked.report, name="flash", node="gpu01", at=at)


def told(looked: Looked, mark: Mark, *retried: str) -> list[Diagnostic]:
    return list(marked(looked.candidate, looked.report, [mark], retried))


def level(looked: Looked, mark: Mark) -> Level | None:
    found = told(looked, mark)
    return found[0].level if found else None


def test_the_same_again_on_the_same_stack_is_an_error_that_cites_what_was_seen() -> None:
    (found,) = told(seen(), failed(seen()))
    assert found.level is Level.ERROR
    assert found.message.startswith(
        "failed on 2026-11-29 at 15:20 UTC on gpu01: stream-capture in capture; this is the"
    )
    assert "uncaptured work" in found.evidence[0]
    assert "Only this whole configuration" in found.effect


@pytest.mark.parametrize(
    "change",
    ["server.port=31000", "name=other", "server.host=0.0.0.0", "model.served_name=x", "env.NCCL_DEBUG=INFO",
     "args.log-requests=true", "server.metrics=false", "model.path=/elsewhere/DeepSeek-V4-Flash"],
)  # fmt: skip
def test_what_cannot_matter_does_not_evade_it(change: str) -> None:
    assert level(seen(change), failed(seen())) is Level.ERROR


@pytest.mark.parametrize(
    "change",
    ["compile.torch_compile=false", "parallel.tp=2", "memory.fraction_static=0.5", "env.SGLANG_TOGGLE=0",
     "env.SGLANG_OTHER=1", "args.chunked-prefill-size=1024", "args.enable-custom-logit-processor=true", "args.speculative-token-map=/x",
     "args.ds-heavy-token-num=7"],
)  # fmt: skip
def test_only_the_whole_configuration_is_covered_as_long_as_no_more_is_known(change: str) -> None:
    assert level(seen(change), failed(seen())) is None


def test_a_setting_that_only_sounds_like_a_secret_is_kept_and_compared() -> None:
    change = "args.speculative-token-map=/models/map.pt"
    assert "/models/map.pt" in failed(seen(change)).condition.settings.values()
    assert level(seen(change), failed(seen(change))) is Level.ERROR


def test_writing_a_default_out_does_not_evade_it() -> None:
    default = seen().catalogue.defaults["schedule_policy"]
    assert level(seen(f"args.schedule-policy={default}"), failed(seen())) is Level.ERROR


def test_a_mark_that_confirms_a_rule_covers_what_the_rule_finds() -> None:
    mark = failed(seen(), rules=["no-such-rule", RULE])
    (found,) = told(seen("memory.fraction_static=0.5"), mark)
    assert (mark.rule, found.level, found.effect) == (RULE, Level.ERROR, f"It confirms the rule {RULE}.")
    assert level(seen("compile.torch_compile=false"), mark) is None


def test_a_rule_that_finds_nothing_there_is_not_confirmed() -> None:
    assert failed(seen("compile.torch_compile=false"), rules=["no-such-rule", RULE]).rule is None


@pytest.mark.parametrize(
    ("prompt", "users", "covered"),
    [(550_000, 8, True), (900_000, 16, True), (500_000, 8, False), (550_000, 4, False), (900_000, 4, False)],
)
def test_what_failed_under_load_is_refused_at_that_load_or_more(prompt: int, users: int, covered: bool) -> None:
    def at(longest: int, at_once: int) -> Looked:
        return seen(f"health.longest_prompt={longest}", f"health.concurrency={at_once}")

    mark = failed(at(550_000, 8), **{"class": "capacity-failed", "stage": "serve"})
    found = told(at(prompt, users), mark)
    assert [one.level for one in found] == ([Level.ERROR] if covered else [])
    assert all("health.longest_prompt 550000, health.concurrency 8; less was not tried" in one.effect for one in found)


def test_a_start_that_failed_is_refused_whatever_load_is_promised() -> None:
    mark = failed(seen("health.longest_prompt=1000"))
    assert mark.condition.demand == {}
    assert level(seen("health.longest_prompt=10"), mark) is Level.ERROR
    assert (mark.id, key_of(seen().candidate)) == (failed(seen()).id, key_of(seen("health.longest_prompt=9").candidate))


def test_an_unknown_host_is_an_error_that_says_so() -> None:
    (found,) = told(seen(facts=Facts()), failed(seen()))
    assert (found.level, "host is unverified" in found.message) == (Level.ERROR, True)


def test_another_host_is_a_warning_that_names_the_difference() -> None:
    (found,) = told(seen(facts=Facts(driver="590.10", torch="2.11.0")), failed(seen()))
    assert (found.level, "driver 580.95.05 and not 590.10" in found.message) == (Level.WARNING, True)


def test_a_failure_that_was_seen_on_this_host_too_is_an_error() -> None:
    other = seen(facts=Facts(driver="590.10", torch="2.11.0"))
    both = with_sightings(failed(seen()), failed(other, at="2026-11-30T08:00:00Z").sightings)
    assert level(other, both) is Level.ERROR


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("engine.version=0.5.22", "SGLang 0.5.23 and not 0.5.22"),
        ("engine.build=ours", "build none and not ours"),
        ("hardware.arch=sm_100", "architecture sm_120 and not sm_100"),
        ("model.facts.model_type=deepseek_v3", "the model DeepSeek-V4-Flash"),
    ],
)
def test_another_stack_is_a_note_that_says_why_it_does_not_block(change: str, words: str) -> None:
    (found,) = told(seen(change), failed(seen()))
    assert (found.level, words in found.message) == (Level.NOTE, True), found.message


def test_facts_that_nobody_read_yet_do_not_evade_it() -> None:
    bare = PROFILE.replace("hardware: {arch: sm_120, devices: [0, 1, 2, 3]}", "hardware: {devices: [0, 1, 2, 3]}")
    known = seen(profile=bare, facts=Facts(arch="sm_120", driver="580.95.05"))
    assert level(seen(profile=bare, facts=Facts()), failed(known)) is Level.ERROR
    assert level(known, failed(seen(profile=bare, facts=Facts()))) is Level.ERROR


def test_a_mark_that_is_retried_or_retired_blocks_nothing() -> None:
    mark = failed(seen())
    assert [one.level for one in told(seen(), mark, mark.id)] == [Level.NOTE]
    retired = Mark.model_validate(
        {**mark.model_dump(by_alias=True), "retired": {"at": "2026-12-01", "because": "fixed"}}
    )
    assert told(seen(), retired) == []


def test_the_same_again_has_the_same_name_and_adds_a_sighting_once() -> None:
    first, second = failed(seen()), failed(seen(), at="2026-11-30T08:00:00Z", lines=["other"])
    assert first.id == second.id
    both = with_sightings(first, [*second.sightings, *second.sightings])
    assert [one.at for one in both.sightings] == ["2026-11-29T15:20:11Z", "2026-11-30T08:00:00Z"]


def test_no_secret_is_in_a_mark() -> None:
    profile = PROFILE + 'args: {model-loader-extra-config: \'{"token": "canary-argument-2"}\'}\n'
    lines = [
        "server_args=ServerArgs(api_key='canary-log-3', host='x')",
        "Authorization: Bearer canary-bearer-4",
        "--api-key canary-flag-5 --port 1",
        "https://user:canary-url-6@example.org/",
        "HF_TOKEN=canary-variable-1",
        "and canary-variable-1 alone",
    ]
    mark = failed(seen(profile=profile), lines=lines, root="api_key=canary-root-7")
    assert "canary" not in text(mark)
    assert level(seen(profile=profile), mark) is Level.ERROR


@pytest.mark.parametrize("kind", sorted(INFRASTRUCTURE))
def test_a_failure_of_the_place_is_no_mark(kind: str) -> None:
    assert not worth_a_mark({**FAILED, "class": kind})


@pytest.mark.parametrize(
    "answer", [{"state": "stopped-by-us"}, {"state": "progressing", "late": True}, {"state": "ready"}, {"root": ""}]
)
def test_no_failure_is_no_mark(answer: dict[str, Any]) -> None:
    assert not worth_a_mark({**FAILED, **answer})


def test_a_success_is_of_exactly_this_configuration_on_this_stack() -> None:
    keys = {key_of(one.candidate) for one in (seen(), seen("parallel.tp=2"), seen(facts=Facts(driver="1")))}
    assert len(keys) == 3
    assert key_of(seen("server.port=31000").candidate) == key_of(seen().candidate)


def test_a_rehearsal_is_another_stack_than_a_real_one() -> None:
    one = seen()
    mark = mark_of(replace(one.candidate, rehearsal=True), FAILED, one.report, name="flash", node="n", at="2026")
    assert level(one, mark) is Level.NOTE


def test_a_profile_without_marks_beside_it_is_told_nothing() -> None:
    assert not [d for d in looked(PROFILE).report.diagnostics if d.rule.startswith("mark:")]
