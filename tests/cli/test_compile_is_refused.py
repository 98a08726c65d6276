"""torch.compile on DeepSeek-V4 is refused however it is written, and seen through flags that outrank one another."""

from pathlib import Path

import pytest
from house import looked

from dsv4deploy.model.diagnostic import Diagnostic, Level

FIRST = Path(__file__).parents[2] / "examples/dsv4-flash-nvfp4-tp4/profile.yaml"
RULE = "torch-compile-in-capture-dsv4"
NEWER = "engine.version=0.5.17"
VARIANT = """\
extends: {first}
name: flash
variants: {{compiled: {{set: {{compile.torch_compile: true}}}}}}
"""


def errors(*sets: str, profile: str | Path = FIRST, variants: tuple[str, ...] = ()) -> list[Diagnostic]:
    found = looked(profile, *sets, variants=variants).report.diagnostics
    return [diagnostic for diagnostic in found if diagnostic.level is Level.ERROR]


@pytest.mark.parametrize(
    "sets",
    [
        ["compile.torch_compile=true"],
        ["args.enable-torch-compile=true"],
        ["args.enable_torch_compile=true"],
        ["args.--enable-torch-compile=true"],
        ["compile={torch_compile: true, mode: default}"],
        # The flags that should turn graphs off lose to these, without a word.
        [NEWER, "compile.torch_compile=true", "args.disable-cuda-graph=true", "cuda_graph.decode.backend=full"],
        [NEWER, "compile.torch_compile=true", "args.disable-decode-cuda-graph=true", "cuda_graph.decode.backend=full"],
        [
            NEWER,
            "compile.torch_compile=true",
            "cuda_graph.decode.enabled=false",
            "args.cuda-graph-config={decode: {backend: full}}",
        ],
    ],
)
def test_every_spelling_is_refused_with_place_reason_evidence_and_remedy(sets: list[str]) -> None:
    [error] = [one for one in errors(*sets) if one.rule == RULE]
    assert error.place
    assert error.place.file.startswith("--set ")
    assert error.effect
    assert "Drop --enable-torch-compile" in error.remedy
    assert "reproduced" in error.evidence[0]
    assert "sm_90" in error.evidence[0]
    assert "reported" in error.evidence[1]
    assert "sm_120" in error.evidence[1]


def test_a_variant_that_compiles_is_refused_where_it_says_so() -> None:
    [error] = errors(profile=VARIANT.format(first=FIRST), variants=("compiled",))
    assert (error.rule, error.place and error.place.file, error.place and error.place.line) == (RULE, "profile.yaml", 3)


def test_with_graphs_off_it_compiles_nothing_and_says_so() -> None:
    found = looked(FIRST, "compile.torch_compile=true", "cuda_graph.decode.enabled=false").report.diagnostics
    assert [(one.rule, one.level) for one in found] == [("torch-compile-without-graphs", Level.WARNING)]


def test_the_variable_that_the_engine_overwrites_is_told_to_have_no_effect() -> None:
    found = looked(FIRST, "env.SGLANG_ENABLE_TORCH_COMPILE=1").report.diagnostics
    assert [one for one in found if "SGLANG_ENABLE_TORCH_COMPILE" in one.names]
    assert RULE not in {one.rule for one in found}


def test_another_model_is_not_refused_by_this_rule() -> None:
    found = errors("compile.torch_compile=true", "model.architecture=LlamaForCausalLM", "model.facts.model_type=llama")
    assert RULE not in {one.rule for one in found}
