"""How much of the card the engine may fill: free memory before the load, and the fraction of it.

`pool = free_before * fraction - weights - draft - multimodal reserve`; read in SGLang 0.5.12, 0.5.16 and 0.5.23 and
within 0.05 % of public logs once the first three are known.
"""

from dsv4deploy.model.memory import GIB, MIB, Interval, Part, Sure, Term, between, exactly
from dsv4deploy.stages.memory.inputs import Inputs
from dsv4deploy.stages.memory.launched import Launched

# Driver, CUDA context, process groups and NCCL (GiB): 1.5 to 2.5 on 96 GB and 141 GB cards of several ranks, 1.6 the
# usual on RTX PRO 6000, 1.3 on a single H200; all from logs.
OVERHEAD = Interval(1.4, 1.6, 2.6)
OVERHEAD_ALONE = Interval(1.0, 1.3, 1.8)
# The engine counts what the system calls available; page cache and services move it.
OVERHEAD_UNIFIED = between(2.0, 12.0)
# No measurement: 0.4 GiB between nodes is normal, and nothing else is known of a foreign card.
LARGE_CARD_MIB = 61440


def free_before(inputs: Inputs) -> Term | None:
    """Free memory of the fullest card before weights load; None if the card is not known."""
    facts, launch, measured = inputs.facts, inputs.launch, inputs.measured
    if measured.free_before is not None:
        return Term(
            Part.BUDGET,
            "free before load",
            exactly(measured.free_before),
            "B",
            "`Load weight begin. avail mem=` of a first start",
            Sure.MEASURED,
        )
    if facts.gpu_memory_mib is None:
        return None
    card = exactly(facts.gpu_memory_mib * MIB)
    used = exactly(max(facts.gpu_memory_used_mib or (0,)) * MIB)
    overhead = OVERHEAD_UNIFIED if facts.unified_memory else OVERHEAD if launch.tp > 1 else OVERHEAD_ALONE
    amount = (card - used - overhead.scaled(GIB)).at_least(0)
    source = f"{facts.gpu_memory_mib} MiB of the card, less {overhead.low:g} to {overhead.high:g} GiB for driver, context and NCCL"
    if used.high:
        source += f", less {used.high / GIB:.1f} GiB used by others"
    return Term(
        Part.BUDGET, "free before load", amount, "B", source, Sure.ASSUMED if facts.unified_memory else Sure.LOGGED
    )


def fraction(inputs: Inputs) -> Term | None:
    """`--mem-fraction-static`, or what the engine would choose; None if that depends on an unknown card."""
    facts, launch = inputs.facts, inputs.launch
    if launch.fraction is not None:
        return Term(Part.BUDGET, "static fraction", exactly(launch.fraction), "", "--mem-fraction-static", Sure.EXACT)
    if facts.gpu_memory_mib is None:
        return None
    chosen = default_fraction(facts.gpu_memory_mib, launch, mla=inputs.shape.attention == "mla")
    return Term(
        Part.BUDGET,
        "static fraction",
        exactly(chosen),
        "",
        "the engine's own choice for this card, tp, chunk and graphs",
        Sure.EXACT,
    )


def default_fraction(card_mib: int, launch: Launched, *, mla: bool = False) -> float:
    """`--mem-fraction-static` when it is not given, rounded to 0.001 as the engine does."""
    reserve = 512 + 1.5 * max(launch.chunk * launch.attention_dp, 2048) + 1024 * launch.tp * launch.pp / 8
    reserve += 2 * launch.decode_batch
    if launch.attention_dp > 1:
        reserve += (3 + 1.5 * (launch.decode_batch > 300)) * launch.decode_batch * launch.attention_dp  # noqa: PLR2004 (the engine's own step)
    reserve += 1536 if mla and launch.flag("cuda_graph_backend_prefill") else 0
    if card_mib > LARGE_CARD_MIB:
        reserve = max(reserve, 10240)
    if launch.speculative and launch.since(0, 5, 14) is False:
        reserve += 6144 if launch.word("speculative_algorithm") == "STANDALONE" else 4096
    reserve += 2048 if launch.word("moe_a2a_backend") == "deepep" else 0
    return max(0.0, round((card_mib - reserve) / card_mib, 3))


def multimodal_reserve(inputs: Inputs) -> Interval:
    """What 0.5.18 and later keep back for the feature transport of a multimodal model, in bytes."""
    facts, launch = inputs.facts, inputs.launch
    names = " ".join(facts.model.architectures or ())
    if "ForConditionalGeneration" not in names or launch.since(0, 5, 18) is False or launch.flag("language_model_only"):
        return exactly(0)
    return between(0 if launch.release is None else 100 * MIB, 1124 * MIB)
