"""Which nodes are equal for an experiment, so that its arms may run on them side by side."""

from collections.abc import Mapping
from dataclasses import dataclass

from dsv4deploy.model.facts import Facts

# What may decide whether a start goes well: the cards, what drives them, and the engine with what it is made of.
_MATTERS = (
    "arch", "gpu_name", "gpu_count", "gpu_memory_mib", "driver", "cuda", "engine_version", "engine_build", "torch",
    "triton", "flashinfer", "sgl_kernel", "nccl",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chosen:
    """The nodes that take part, and a sentence for each reason why not all do, or why one must do alone."""

    nodes: tuple[str, ...]
    told: tuple[str, ...] = ()


def chosen(facts: Mapping[str, Facts], unfit: Mapping[str, str]) -> Chosen:
    """The first node that is fit, and every other one that is equal to it.

    Args:
        facts: what each node says of itself and of its engine.
        unfit: why a node cannot run an arm at all, by node.
    """
    fit = [node for node in facts if node not in unfit]
    told = [f"{node} takes no part: {why}" for node, why in unfit.items()]
    if not fit:
        return Chosen((), tuple(told))
    first = fit[0]
    differing = {node: differences(facts[first], facts[node]) for node in fit}
    told += [
        f"{node} takes no part: beside {first} it has another {', '.join(d)}" for node, d in differing.items() if d
    ]
    equal = tuple(node for node in fit if not differing[node])
    if len(equal) > 1:
        unknown = [key for key in _MATTERS if all(getattr(facts[node], key) is None for node in equal)]
        nobody = f" (nobody said {', '.join(unknown)})" if unknown else ""
        told.append(f"{', '.join(equal)} are equal in what matters{nobody}: arms run side by side")
    elif len(facts) > 1:
        told.append(f"arms run one after the other on {first}")
    return Chosen(equal, tuple(told))


def differences(one: Facts, other: Facts) -> tuple[str, ...]:
    """What matters and is known to differ, or known of one only."""
    return tuple(key for key in _MATTERS if getattr(one, key) != getattr(other, key))
