"""What a launch file does not say for certain is unknown to the rules, and never its default."""

import house
import pytest

from dsv4deploy.flow import Asked, looked_at_script
from dsv4deploy.model.facts import Facts
from dsv4deploy.stages.seen import Seen

# 643 GiB on one card of 80 GiB, unless somebody spreads them.
FACTS = {
    "arch": "sm_90",
    "gpu_count": 8,
    "gpu_memory_mib": 81920,
    "engine_version": "0.5.20",
    "model": {"model_type": "deepseek_v3", "quant_method": "fp8", "weight_bytes": 690_000_000_000},
}
RULE = "weights-do-not-fit"


def seen(script: str, **known: str) -> Seen:
    texts = house.Written({"serve.sh": script})
    return looked_at_script(texts, house.knowledge(), Asked("serve.sh", facts=Facts.model_validate(FACTS)), known=known)


def found(one: Seen) -> bool:
    return RULE in {told.rule for told in one.report.diagnostics}


def needs(one: Seen) -> tuple[str, ...]:
    return next((unknown.needs for unknown in one.report.unknown if unknown.rule == RULE), ())


@pytest.mark.parametrize(
    ("script", "told", "by"),
    [
        ("python -m sglang.launch_server --model-path /m --tp $TP", "TP", {"TP": "1"}),
        ("python -m sglang.launch_server --model-path /m --tp=$TP", "TP", {"TP": "1"}),
        ("python -m sglang.launch_server --model-path /m $EXTRA", "EXTRA", {"EXTRA": ""}),
        ("python -m sglang.launch_server --model-path /m ${EXTRA} --log-level info", "EXTRA", {"EXTRA": "--tp 2"}),
    ],
)
def test_a_value_that_only_the_caller_knows_is_no_default(script: str, told: str, by: dict[str, str]) -> None:
    assert (found(seen(script)), needs(seen(script))) == (False, (told,))
    assert found(seen(script, **by))


def test_what_a_test_decides_is_known_once_its_words_are() -> None:
    script = """
ARGS=(--model-path /m)
if [[ "$BIG" == true ]]; then ARGS+=(--tp 16); fi
python -m sglang.launch_server "${ARGS[@]}"
"""
    assert (found(seen(script)), bool(needs(seen(script)))) == (False, True)
    assert found(seen(script, BIG="false"))
    assert not found(seen(script, BIG="true"))


def test_a_file_is_judged_as_if_it_is_called_without_arguments() -> None:
    one = seen('python -m sglang.launch_server --model-path /m "$@"')
    assert found(one)
    (note,) = (told for told in one.report.diagnostics if told.rule == "unknown-word")
    assert "without arguments" in note.effect


def test_a_variable_of_the_engine_that_is_not_known_is_no_default() -> None:
    script = "SGLANG_TORCH_COMPILE_MODE=$MODE python -m sglang.launch_server --model-path /m --enable-torch-compile"
    assert any("MODE" in unknown.needs for unknown in seen(script).report.unknown)


@pytest.mark.parametrize("other", ["--port $PORT", "--api-key $KEY", "--served-model-name=$NAME"])
def test_the_memory_account_needs_nothing_that_takes_no_memory(other: str) -> None:
    with_it, without = (seen(f"python -m sglang.launch_server --model-path /m {words}").memory for words in (other, ""))
    assert with_it is not None
    assert with_it == without


def test_no_memory_account_is_made_of_sizes_that_nobody_said() -> None:
    account = seen("python -m sglang.launch_server --model-path /m --tp $TP").memory
    assert account is not None
    assert (account.diagnostics, "TP" in account.needs) == ((), True)
