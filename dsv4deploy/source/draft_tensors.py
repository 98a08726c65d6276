"""The shape of the experts that only a draft module (MTP, NextN) holds, told from the headers of its tensors.

A quantized export may keep them in another format than the model's own experts, so the configuration does not tell.
"""

import re
from collections.abc import Iterable, Mapping

from dsv4deploy.model.checkpoint import TensorClass
from dsv4deploy.source.safetensors import Tensor
from dsv4deploy.source.tensor_names import is_draft, is_scale, tensor_class

DOWN = re.compile(r"\.(w2|down_proj)(\.weight)?$")
SCALES = ("_scale_inv", "_scale")
BLOCKED = "F8_E4M3"
UNPACKED = (BLOCKED, "BF16", "F16", "F32")
MATRIX = 2


def draft_expert_facts(tensors: Iterable[Tensor], layers: int | None, hidden: int | None) -> dict[str, object]:
    """`mtp_moe_intermediate_size` (whole, over all ranks) and `mtp_weight_block_size` (rows, columns), if told."""
    experts = {
        tensor.name: tensor
        for tensor in tensors
        if is_draft(tensor.name, layers) and tensor_class(tensor.name) is TensorClass.EXPERTS
    }
    down = next((tensor for name, tensor in experts.items() if DOWN.search(name) and not is_scale(name)), None)
    if down is None or len(down.shape) < MATRIX or down.dtype not in UNPACKED:
        return {}
    return {
        "mtp_moe_intermediate_size": _other_side(down.shape[-MATRIX:], hidden),
        "mtp_weight_block_size": _block(down, experts),
    }


def _other_side(matrix: tuple[int, ...], hidden: int | None) -> int | None:
    """The side that is not the hidden size; a file may hold the matrix or its transpose."""
    if hidden not in matrix:
        return None
    sides = list(matrix)
    sides.remove(hidden)
    return sides[0]


def _block(weight: Tensor, experts: Mapping[str, Tensor]) -> tuple[int, int] | None:
    """Rows and columns that share one scale; none for a scale of a whole tensor, a row or a column."""
    names = (weight.name + end for end in SCALES)
    beside = (weight.name.removesuffix(".weight") + ".scale", *names)
    scale = next((experts[name] for name in beside if name in experts), None)
    if weight.dtype != BLOCKED or scale is None or len(scale.shape) != len(weight.shape):
        return None
    rows, columns = (
        _side(length, count) for length, count in zip(weight.shape[-MATRIX:], scale.shape[-MATRIX:], strict=True)
    )
    return (rows, columns) if rows and columns and rows > 1 and columns > 1 else None


def _side(length: int, count: int) -> int | None:
    """The power of two that cuts `length` into `count` pieces, the last of which may be short; one piece tells nothing."""
    if count <= 1:
        return None
    return next((side for n in range(20) if -(-length // (side := 1 << n)) == count), None)
