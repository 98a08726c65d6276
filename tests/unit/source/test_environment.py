"""Environment variables are judged as the engine and its libraries read them."""

import pytest

from dsv4deploy.flags import history
from dsv4deploy.model.environment import MalformedVariable, OtherVersionVariable, RetiredVariable, UnknownVariable
from dsv4deploy.source.environment import check_env


def check(name: str, value: str = "1", version: str = "0.5.21") -> object:
    return check_env(name, value, history().at(version), history())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_P2P_LEVEL", "SYS"),
        ("NCCL_DEBUG", "info"),
        ("NCCL_ALGO", "^NVLS"),
        ("NCCL_BUFFSIZE", "0x400000"),
        ("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", "YES"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,roundup_power2_divisions:[256:1,>:2]"),
        ("MY_OWN", "anything"),
        ("VLLM_USE_V1", "1"),
    ],
)
def test_what_somebody_reads_or_nobody_knows_of_is_fine(name: str, value: str) -> None:
    assert check(name, value) is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_P2P_LEVL", "NCCL_P2P_LEVEL"),
        ("NCCL_IB_DISABEL", "NCCL_IB_DISABLE"),
        ("SGLANG_ENABLE_TORCH_COMPIL", "SGLANG_ENABLE_TORCH_COMPILE"),
        ("CUDA_VISIBEL_DEVICES", "CUDA_VISIBLE_DEVICES"),
        ("PYTORCH_ALLOC_CUDA_CONF", "PYTORCH_CUDA_ALLOC_CONF"),
        ("GLOO_SOCKET_IFNAM", "GLOO_SOCKET_IFNAME"),
        ("OMP_NUM_THREAD", "OMP_NUM_THREADS"),
    ],
)
def test_a_misspelt_name_names_the_one_that_was_meant(name: str, meant: str) -> None:
    error = check(name)
    assert isinstance(error, UnknownVariable)
    assert error.nearest[0] == meant


@pytest.mark.parametrize("name", ["SGLANG_SM120_MMA_FLASHMLA", "NCCL_TOTALLY_INVENTED"])
def test_a_name_that_nobody_reads_and_that_resembles_none_is_unknown(name: str) -> None:
    assert check(name) == UnknownVariable(name)


def test_a_digit_more_is_another_variable_and_no_slip() -> None:
    assert check("SGLANG_OPT_USE_TOPK_V3") == UnknownVariable("SGLANG_OPT_USE_TOPK_V3")


def test_a_variable_of_another_release_tells_its_life() -> None:
    old = check("SGLANG_SM120_TRITON_FLASHMLA")
    assert isinstance(old, OtherVersionVariable)
    assert old.life.until == "0.5.14"
    early = check("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", version="0.5.20")
    assert isinstance(early, OtherVersionVariable)
    assert early.life.since == "0.5.21"


@pytest.mark.parametrize(
    ("name", "value", "effect"),
    [
        ("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", "on", "warns and uses the default False"),
        ("SGLANG_PCIE_IPC_MAX_NUMEL", "1k", "warns and uses the default 0"),
        ("NCCL_P2P_LEVEL", "sys", "NCCL ignores it"),
        ("NCCL_P2P_DISABLE", "true", "NCCL ignores it"),
        ("NCCL_PROTO", "LL256", "NCCL ignores it"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments=True", "PyTorch ignores it"),
    ],
)
def test_a_value_that_its_reader_cannot_use_says_what_happens_instead(name: str, value: str, effect: str) -> None:
    error = check(name, value)
    assert isinstance(error, MalformedVariable)
    assert effect in error.effect
    assert error.wanted


def test_the_old_prefix_is_rewritten_as_the_engine_does() -> None:
    error = check("SGL_ENABLE_JIT_DEEPGEMM", "0")
    assert isinstance(error, RetiredVariable)
    assert error.variable.name == "SGLANG_ENABLE_JIT_DEEPGEMM"


def test_a_library_reads_its_variable_whichever_release_began_to_look_at_it() -> None:
    assert check("CUTE_DSL_ARCH", "sm_120a", "0.5.15") is None
