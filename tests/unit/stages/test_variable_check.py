"""Variables that are not read, or not as they are meant, are told."""

import pytest

from dsv4deploy.flags import history
from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.launch import Provided, Variable
from dsv4deploy.model.place import Place
from dsv4deploy.stages.variable_check import variable_diagnostics

PLACE = Place("profile.yaml", 3, 5, 3, 9)


def told(name: str, value: str = "1", version: str = "0.5.21", *provided: Provided) -> tuple[Diagnostic, ...]:
    return variable_diagnostics([Variable(name, value, place=PLACE)], history().at(version), history(), provided)


@pytest.mark.parametrize(
    ("name", "value", "rule", "level", "remedy"),
    [
        ("NCCL_P2P_LEVL", "SYS", "unknown-variable", Level.ERROR, "did you mean NCCL_P2P_LEVEL?"),
        ("SGLANG_SM120_MMA_FLASHMLA", "1", "unknown-variable", Level.NOTE, "`provides`"),
        ("SGLANG_SM120_TRITON_FLASHMLA", "1", "removed-variable", Level.NOTE, "0.5.14"),
        ("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", "on", "malformed-variable", Level.ERROR, "true, 1, yes, y"),
        ("NCCL_P2P_DISABLE", "true", "malformed-variable", Level.WARNING, "a whole number"),
        ("SGL_ENABLE_JIT_DEEPGEMM", "0", "deprecated-variable", Level.NOTE, "write SGLANG_ENABLE_JIT_DEEPGEMM"),
        ("NCCL_BLOCKING_WAIT", "1", "deprecated-variable", Level.NOTE, "write TORCH_NCCL_BLOCKING_WAIT"),
    ],
)
def test_a_variable_is_told_in_four_parts(name: str, value: str, rule: str, level: Level, remedy: str) -> None:
    [diagnostic] = told(name, value)
    assert (diagnostic.rule, diagnostic.level, diagnostic.place) == (rule, level, PLACE)
    assert diagnostic.names == (name,)
    assert remedy in diagnostic.remedy
    assert diagnostic.effect
    assert diagnostic.evidence


def test_a_variable_of_a_later_release_is_a_warning() -> None:
    [diagnostic] = told("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", version="0.5.20")
    assert (diagnostic.rule, diagnostic.level) == ("variable-not-yet", Level.WARNING)
    assert "0.5.21" in diagnostic.message


def test_a_variable_that_a_patch_provides_is_read_by_that() -> None:
    name = "SGLANG_SM120_MMA_FLASHMLA"
    assert told(name, "1", "0.5.13.post1", Provided("the patched kernel reads it", env=name)) == ()
