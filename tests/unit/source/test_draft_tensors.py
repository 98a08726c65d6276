"""The experts of a draft module are told by the headers of its own tensors."""

import pytest

from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.source.model_folder import read_model_folder
from tests.folders import MemoryFolder, config, safetensors

CONFIG = config(model_type="qwen3_5_moe", num_hidden_layers=2, hidden_size=2048, moe_intermediate_size=512)


def facts(**tensors: tuple[str, list[int]]) -> ModelFacts:
    sized = {name.replace("__", "."): (dtype, shape, 2) for name, (dtype, shape) in tensors.items()}
    return read_model_folder(MemoryFolder({"config.json": CONFIG, "model.safetensors": safetensors(sized)})).facts


@pytest.mark.parametrize("expert", ["mtp__layers__0__mlp__experts__0", "model__layers__2__mlp__experts__0"])
@pytest.mark.parametrize(
    ("weight", "scale", "size", "block"),
    [
        (("F8_E4M3", [2048, 640]), ("BF16", [16, 5]), 640, (128, 128)),
        (("F8_E4M3", [2048, 576]), ("F32", [16, 5]), 576, (128, 128)),
        (("F8_E4M3", [2048, 640]), ("F32", [2048, 1]), 640, None),
        (("F8_E4M3", [2048, 640]), ("F32", []), 640, None),
        (("F8_E4M3", [2048, 512]), ("F32", [1, 1]), 512, None),
        (("BF16", [2048, 640]), ("F32", [16, 5]), 640, None),
        (("U8", [2048, 320]), ("F8_E4M3", [2048, 40]), None, None),
        (("BF16", [1024, 640]), ("F32", [16, 5]), None, None),
    ],
)
def test_size_and_block_of_the_draft_s_experts(
    expert: str,
    weight: tuple[str, list[int]],
    scale: tuple[str, list[int]],
    size: int | None,
    block: tuple[int, int] | None,
) -> None:
    for ending in ("weight_scale_inv", "weight_scale", "scale"):
        found = facts(**{f"{expert}__down_proj__weight": weight, f"{expert}__down_proj__{ending}": scale})
        assert (found.mtp_moe_intermediate_size, found.mtp_weight_block_size) == (size, block)


def test_fused_experts_are_read_by_their_last_two_sides() -> None:
    found = facts(
        mtp__layers__0__mlp__experts__down_proj=("F8_E4M3", [256, 2048, 640]),
        mtp__layers__0__mlp__experts__down_proj_scale_inv=("F32", [256, 16, 5]),
    )
    assert (found.mtp_moe_intermediate_size, found.mtp_weight_block_size) == (640, (128, 128))


def test_experts_of_the_model_itself_are_no_draft() -> None:
    found = facts(model__layers__1__mlp__experts__0__down_proj__weight=("BF16", [2048, 512]))
    assert found.mtp_moe_intermediate_size is None
