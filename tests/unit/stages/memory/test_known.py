"""The shapes of published models are as valid as those that are read from a folder."""

import pytest

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.stages.memory.known import PUBLISHED, UNPUBLISHED, V41_FLASH, shape_of
from dsv4deploy.stages.memory.shares import estimated_shares


@pytest.mark.parametrize("shape", [*PUBLISHED.values(), V41_FLASH, UNPUBLISHED], ids=str)
def test_a_published_shape_would_pass_the_validator(shape: Geometry) -> None:
    assert Geometry.model_validate(shape.model_dump()) == shape


def test_a_model_of_another_size_has_no_published_shape() -> None:
    flash = ModelFacts(model_type="deepseek_v4", moe_intermediate_size=2048)
    assert shape_of(flash).layers == 43
    assert shape_of(flash.model_copy(update={"n_routed_experts": 64})) == UNPUBLISHED
    assert shape_of(ModelFacts()) == Geometry()


PARAMETERS = {
    ("deepseek_v4", 2048, 256): 284,
    ("deepseek_v4", 3072, 384): 1600,
    ("deepseek_v3", 2048, 256): 671,
    ("deepseek_v32", 2048, 256): 672,
    ("glm_moe_dsa", 2048, 256): 744,
    ("kimi_k2", 2048, 384): 1040,
    ("kimi_k25", 2048, 384): 1040,
    ("qwen3_next", 512, 512): 80,
    ("qwen3_5_moe", 1024, 512): 397,
    ("qwen3_5_moe", 1024, 256): 122,
    ("qwen3_5_moe", 512, 256): 35,
    ("qwen3_moe", 768, 128): 30.5,
    ("qwen3_moe", 1536, 128): 235,
    ("qwen3_moe", 2560, 160): 480,
    ("minimax_m2", 1536, 256): 230,
    ("glm4_moe", 1536, 160): 355,
    ("glm4_moe", 1408, 128): 106,
}


@pytest.mark.parametrize("key", PUBLISHED, ids=str)
def test_a_published_shape_has_as_many_parameters_as_the_model_is_named_after(key: tuple[str, int, int]) -> None:
    shares = estimated_shares(PUBLISHED[key], ModelFacts(quant_method="none", experts_dtype="bf16"))
    assert sum(share.bytes for share in shares) / 2e9 == pytest.approx(PARAMETERS[key], rel=0.02)


def test_siblings_are_told_apart_by_their_experts_or_not_at_all() -> None:
    qwen = ModelFacts(model_type="qwen3_5_moe", moe_intermediate_size=1024)
    assert shape_of(qwen) == UNPUBLISHED
    assert shape_of(qwen.model_copy(update={"n_routed_experts": 256})).layers == 48
