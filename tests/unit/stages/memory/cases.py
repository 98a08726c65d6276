"""Inputs for tests: the usual card, a launch and a model."""

from collections.abc import Mapping

from dsv4deploy.model.checkpoint import Checkpoint, Geometry, Share, TensorClass
from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.model.memory import GIB, Measured, Workload
from dsv4deploy.stages.memory.inputs import Inputs
from dsv4deploy.stages.memory.launched import read_launch

FLASH = ModelFacts(
    model_type="deepseek_v4",
    n_routed_experts=256,
    moe_intermediate_size=2048,
    quant_method="fp8",
    experts_dtype="mxfp4",
)
CARD = Facts(arch="sm_120", gpu_memory_mib=97887)
NODE = CARD.model_copy(update={"model": FLASH})


def share(tensor_class: TensorClass, gib: float, dtype: str = "BF16", *, draft: bool = False) -> Share:
    return Share(tensor_class=tensor_class, dtype=dtype, bytes=int(gib * GIB), draft=draft)


def inputs(
    *shares: Share,
    shape: Geometry | None = None,
    facts: Facts = CARD,
    version: str | None = "0.5.21",
    measured: Measured | None = None,
    prompt: int | None = None,
    settings: Mapping[str, object] | None = None,
    **more: object,
) -> Inputs:
    shape = shape or Geometry()
    checkpoint = Checkpoint(geometry=shape, weights=shares, weights_from="headers" if shares else None)
    launch = read_launch(version, {**(settings or {}), **more}, facts, shape)
    return Inputs(launch, facts, checkpoint, measured or Measured(), Workload(prompt))
