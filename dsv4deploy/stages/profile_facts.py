"""What is known before any node was asked: facts that the profile itself states, and one document laid over another.

The values were validated where they came from, so that none is validated again here.
"""

from collections.abc import Mapping

from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.model.profile import Profile


def facts_of(profile: Profile) -> Facts:
    """The facts that `profile` states of its cards, engine and model.

    `gpu_count` counts the cards that the server may use: those listed as devices, else all.
    """
    hardware, engine, model = profile.hardware, profile.engine, profile.model
    architectures = (model.architecture,) if model.architecture else model.facts.architectures
    stated = Facts.model_construct(
        arch=hardware.arch,
        gpu_name=hardware.gpu,
        gpu_memory_mib=hardware.memory_mib,
        gpu_count=len(hardware.devices) if hardware.devices else hardware.count,
        nnodes=profile.parallel.nodes,
        engine_version=engine.version,
        engine_build=engine.build,
        engine_patched=True if engine.build or profile.kernels.patches else None,
    )
    return stated.model_copy(update={"model": model.facts.model_copy(update={"architectures": architectures})})


def laid_over(base: Facts, over: Facts) -> Facts:
    """The facts of both; where both speak, `over` is right."""
    model = base.model.model_copy(update=_known(over.model))
    return base.model_copy(update={**_known(over), "model": model})


def _known(facts: Facts | ModelFacts) -> Mapping[str, object]:
    return {name: value for name in type(facts).model_fields if (value := getattr(facts, name)) is not None}
