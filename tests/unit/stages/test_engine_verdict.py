"""Our answer held against the engine's own: agreement, disagreement at its place, refusal, and an engine that is none."""

from dataclasses import replace

from house import looked

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.engine_answer import EngineAnswer, EngineQuestion, Gpu
from dsv4deploy.model.launch import Json
from dsv4deploy.stages.engine_verdict import second_opinion
from dsv4deploy.stages.seen import Seen

PROFILE = """\
name: flash
engine: {version: 0.5.23, venv: /v}
model: {path: /m, served_name: flash, facts: {model_type: deepseek_v4, quant_method: fp8}}
hardware: {arch: sm_120, gpu: NVIDIA RTX PRO 6000, memory_mib: 97887, count: 8}
parallel: {tp: 2}
cuda_graph: {decode: {max_bs: 32}}
env: {SGLANG_LOG_MS: 1, NCCL_DEBUG: INFO}
server: {port: 30000}
"""


def agreeing(seen: Seen, **other: Json) -> EngineAnswer:
    """An engine that says what we say, but for `other`."""
    parsed = {dest: setting.value for dest, setting in seen.launch.settings.items()}
    known = {dest: outcome.value for dest, outcome in seen.effective.settings.items() if not outcome.needs}
    return EngineAnswer("0.5.23", {**parsed, **other}, {**known, **other})


def told(seen: Seen, answer: EngineAnswer) -> list[Diagnostic]:
    return list(second_opinion(seen, lambda _: answer))


def test_it_is_asked_with_the_words_its_own_variables_and_the_cards() -> None:
    asked: list[EngineQuestion] = []

    def ask(question: EngineQuestion) -> EngineAnswer:
        asked.append(question)
        return EngineAnswer(unable="gone")

    second_opinion(looked(PROFILE), ask)
    [question] = asked
    assert question.words[:2] == ("--model-path", "/m")
    assert dict(question.environment) == {"SGLANG_LOG_MS": "1"}
    assert question.gpu == Gpu("NVIDIA RTX PRO 6000", 12, 0, 97887, 8)


def test_an_arch_of_two_and_three_digits() -> None:
    asked: list[Gpu | None] = []

    def ask(question: EngineQuestion) -> EngineAnswer:
        asked.append(question.gpu)
        return EngineAnswer(unable="gone")

    for arch in ("sm_90", "sm_103", "sm_120a"):
        second_opinion(looked(PROFILE, f"hardware.arch={arch}"), ask)
    assert [gpu and (gpu.major, gpu.minor) for gpu in asked] == [(9, 0), (10, 3), (12, 0)]


def test_agreement_is_a_note_that_counts() -> None:
    seen = looked(PROFILE)
    [one] = told(seen, agreeing(seen))
    assert (one.rule, one.level) == ("engine-agrees", Level.NOTE)
    assert "reads the arguments as we do, and agrees on" in one.message


def test_a_value_read_otherwise_is_told_at_its_place_and_as_a_bug() -> None:
    seen = looked(PROFILE)
    answer = replace(agreeing(seen), parsed={**(agreeing(seen).parsed or {}), "tp_size": "2"}, resolved=None)
    [one] = told(seen, answer)
    assert (one.rule, one.level, one.names) == ("engine-disagrees", Level.WARNING, ("--tp-size",))
    assert one.place is not None
    assert one.place.line == 5
    assert "bug" in one.remedy


def test_a_setting_that_ends_up_otherwise_is_told_with_our_reason() -> None:
    seen = looked(PROFILE)
    [one] = told(seen, agreeing(seen, attention_backend="flashinfer"))
    assert one.message.startswith("attention_backend ends up as flashinfer; we say dsv4 (")


def test_a_written_setting_that_does_not_stay_is_told() -> None:
    seen = looked(PROFILE)
    [one] = told(seen, replace(agreeing(seen), resolved={"cuda_graph_max_bs_decode": 16}))
    assert one.message == "--cuda-graph-max-bs-decode ends up as 16; we say 32 (as written)"
    assert one.place is not None
    assert one.place.line == 6


def test_what_the_engine_leaves_open_is_no_disagreement() -> None:
    seen = looked(PROFILE)
    [one] = told(seen, agreeing(seen, fp8_gemm_runner_backend="auto", attention_backend=None))
    assert one.rule == "engine-agrees"


def test_a_refusal_that_we_did_not_foresee_is_an_error() -> None:
    [one] = told(looked(PROFILE), EngineAnswer("0.5.23", refused="ValueError: no"))
    assert (one.rule, one.level) == ("engine-refuses", Level.ERROR)
    assert "ValueError: no" in one.message


def test_a_refusal_that_we_told_too_is_agreement() -> None:
    [one] = told(looked(PROFILE, "args.bogus=1"), EngineAnswer("0.5.23", refused="unrecognized arguments"))
    assert (one.rule, one.level) == ("engine-agrees", Level.NOTE)
    assert "refuses it too" in one.message


def test_an_argument_that_only_we_refuse_is_a_disagreement() -> None:
    seen = looked(PROFILE, "args.bogus=1")
    [one] = told(seen, agreeing(seen))
    assert one.message == "SGLang accepts what we refuse: --bogus"


def test_an_engine_that_cannot_be_asked_or_is_another_is_told_in_one_line() -> None:
    seen = looked(PROFILE)
    for answer in (EngineAnswer(unable="No module named 'torch'"), EngineAnswer("0.5.21", {}, {})):
        [one] = told(seen, answer)
        assert (one.rule, one.level) == ("engine-not-asked", Level.WARNING)
        assert (answer.unable or "0.5.21") in one.message


def test_a_build_of_the_same_version_is_the_same_version() -> None:
    seen = looked(PROFILE)
    assert told(seen, replace(agreeing(seen), version="0.5.23+cu130"))[0].rule == "engine-agrees"


def test_what_it_could_not_resolve_says_why() -> None:
    seen = looked(PROFILE, "hardware.memory_mib=null")
    [one] = told(seen, replace(agreeing(seen), resolved=None))
    assert one.message.endswith("could not say: needs gpu_memory_mib")
    [one] = told(seen, replace(agreeing(seen), resolved=None, unresolved="OSError: no folder"))
    assert one.message.endswith("could not say: OSError: no folder")


def test_words_that_are_not_known_are_not_asked_about() -> None:
    seen = replace(looked(PROFILE), words=None)
    [one] = second_opinion(seen, lambda _: EngineAnswer())
    assert one.rule == "engine-not-asked"
