"""The shapes of published models are as valid as those that are read from a folder."""

import pytest

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.stages.memory.known import PUBLISHED, UNPUBLISHED, V41_FLASH, shape_of


@pytest.mark.parametrize("shape", [*PUBLISHED.values(), V41_FLASH, UNPUBLISHED], ids=str)
def test_a_published_shape_would_pass_the_validator(shape: Geometry) -> None:
    assert Geometry.model_validate(shape.model_dump()) == shape


def test_a_model_of_another_size_has_no_published_shape() -> None:
    flash = ModelFacts(model_type="deepseek_v4", moe_intermediate_size=2048)
    assert shape_of(flash).layers == 43
    assert shape_of(flash.model_copy(update={"n_routed_experts": 64})) == UNPUBLISHED
    assert shape_of(ModelFacts()) == Geometry()
