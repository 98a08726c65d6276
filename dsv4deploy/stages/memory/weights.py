"""Weights on one rank: each tensor class divided as the engine divides it, then changed as the load changes it."""

from collections.abc import Iterable, Iterator

from dsv4deploy.model.checkpoint import Geometry, Share, TensorClass
from dsv4deploy.model.memory import GIB, NOTHING, Interval, Part, Sure, Term, between, exactly, total
from dsv4deploy.stages.memory.inputs import Inputs
from dsv4deploy.stages.memory.shape import MissingError
from dsv4deploy.stages.memory.shares import estimated_shares

# Predicted against logged weights of 13 public boots: within 5 % where kernels keep the layout of the file, up to
# 18 % too low where they do not (Marlin on Hopper). Headers tell odd layouts of a file, a configuration does not.
FROM_HEADERS = (0.985, 1.05)
FROM_CONFIG = (0.97, 1.11)
MARLIN = 1.22
# How much of a total every rank holds: about 2.5 % in DeepSeek-V4, 6 % where attention is not divided.
REPLICATED, REPLICATED_DP = 0.025, 0.06
# A total counts draft layers that a launch without speculation does not load.
DRAFT_OF_TOTAL = 0.94
# DeepSeek-V4.1-Flash: 510 GB on disk, of it 189 GiB of Engram tables that may stay in host memory or on NVMe.
ENGRAM_BYTES, ENGRAM_TOTAL = 189 * GIB, 480_000_000_000
ONLINE_QUANTIZATION = 0.25
OFFLOADING = ("cpu_offload_gb", "kt_method", "kt_weight_path", "offload_group_size", "enable_paged_experts")
ROPE_TABLES = 2
# Logged: V4-Pro NextN tp 8 3.1 GiB, V4.1 DSpark tp 3 2.8 GiB, Flash DSpark tp 2 4 to 4.6 GiB with its graphs.
DRAFT_LOGGED = Interval(0.5, 3.0, 4.6).scaled(GIB)
DRAFT_FROM_HEADERS = (0.95, 1.4)
UNLAYERED = {TensorClass.EMBEDDING, TensorClass.LM_HEAD, TensorClass.VISION}
BY_HEADS = (
    TensorClass.ATTENTION,
    TensorClass.OUTPUT_A,
    TensorClass.KV_B,
    TensorClass.LINEAR_ATTENTION,
    TensorClass.EMBEDDING,
)


def weights(inputs: Inputs) -> tuple[Term, ...]:
    """The weights of the target model on the fullest rank, as terms; none if nothing tells their size."""
    checkpoint, model, measured = inputs.checkpoint, inputs.facts.model, inputs.measured
    if measured.weights is not None:
        source = "`Load weight end … mem usage=` of a first start"
        return (_term("all", exactly(measured.weights), source, Sure.MEASURED),)
    if checkpoint.weights:
        return _by_class(checkpoint.weights, inputs, FROM_HEADERS)
    if model.weight_bytes is not None:
        return (_of_total(model.weight_bytes, inputs),)
    try:
        return _by_class(estimated_shares(inputs.shape, model), inputs, FROM_CONFIG)
    except MissingError:
        return ()


def draft_weights(inputs: Inputs) -> Term | None:
    """The draft model on one rank; None without speculation."""
    launch = inputs.launch
    if not launch.speculative or launch.word("speculative_algorithm").upper() == "NGRAM":
        return None
    if inputs.measured.draft is not None:
        return _term("draft", exactly(inputs.measured.draft), "`Load weight end` of the draft", Sure.MEASURED)
    inside = [share for share in inputs.checkpoint.weights if share.draft]
    if inside and not launch.word("speculative_draft_model_path"):
        amount = total(_on_rank(share, inputs) for share in inside).widened(*DRAFT_FROM_HEADERS)
        return _term(
            "draft", amount, "headers of the draft's own tensors; embedding and head are shared", Sure.INFERRED
        )
    return _term("draft", DRAFT_LOGGED, "logs of drafts of DeepSeek-V4", Sure.ASSUMED)


def _term(name: str, amount: Interval, source: str, sure: Sure) -> Term:
    return Term(Part.WEIGHTS, f"weights: {name}", amount, "B", source, sure)


def _of_total(size: int, inputs: Inputs) -> Term:
    """A total alone: experts divide over all ranks, a small part does not."""
    launch, model = inputs.launch, inputs.facts.model
    ranks = launch.tp * launch.pp
    copied, (low, high) = _copied(inputs), _layout(inputs, FROM_HEADERS)
    least, most = size * low, size * high * copied.high * _fullest_stage(inputs)
    if model.model_type == "deepseek_v41" and size > ENGRAM_TOTAL:
        least -= ENGRAM_BYTES
    if not launch.speculative and model.has_mtp is not False:
        least *= DRAFT_OF_TOTAL
    if launch.flag("quantization") and not model.quant_method:
        least *= ONLINE_QUANTIZATION
    likely = min(max(least, size * copied.likely), most)
    amount = Interval(least, likely, most).scaled(1 / ranks)
    return _term("all", amount, f"{size / 1e9:.1f} GB in all, over {ranks} ranks", Sure.INFERRED)


def _copied(inputs: Inputs) -> Interval:
    """How many times an even part a rank holds, for what the ranks of one stage do not divide.

    The published shape tells it where there is one; it is doubled at worst, for nobody has read this checkpoint.
    """
    launch = inputs.launch
    try:
        shares = estimated_shares(inputs.shape, inputs.facts.model)
    except MissingError:
        replicated = (REPLICATED if launch.attention_dp == 1 else REPLICATED_DP) * (launch.tp - 1)
        return Interval(1, 1 + replicated, 1 + 2 * replicated)
    one_stage = sum(share.bytes / _divisors(share.tensor_class, inputs)[1] for share in shares)
    extra = max(0.0, one_stage * launch.tp / sum(share.bytes for share in shares) - 1)
    return Interval(1, 1 + extra, 1 + 2 * extra)


def _fullest_stage(inputs: Inputs) -> float:
    """How much more than an even part the stage with the most layers holds."""
    stages = inputs.launch.pp
    layers = inputs.shape.layers or inputs.facts.model.num_hidden_layers or stages
    return -(-layers // stages) * stages / layers


def _by_class(shares: Iterable[Share], inputs: Inputs, spread: tuple[float, float]) -> tuple[Term, ...]:
    sizes: dict[TensorClass, Interval] = {}
    for share in shares:
        if not share.draft:
            amount = _on_rank(share, inputs) + _grown(share, inputs)
            sizes[share.tensor_class] = sizes.get(share.tensor_class, NOTHING) + amount
    low, high = _layout(inputs, spread)
    read = spread is FROM_HEADERS
    source, sure = ("safetensors headers", Sure.INFERRED) if read else ("shape of the model", Sure.ASSUMED)
    terms = [
        _term(name.value, amount.widened(low, high), f"{source}, {_division(name, inputs)}", sure)
        for name, amount in sorted(sizes.items(), key=lambda pair: -pair[1].high)
    ]
    return (*terms, *_tables(inputs.shape))


def _on_rank(share: Share, inputs: Inputs) -> Interval:
    """Bytes of one share on the fullest rank."""
    best, worst = _divisors(share.tensor_class, inputs)
    amount = between(share.bytes / best, share.bytes / worst)
    if share.tensor_class is TensorClass.ENGRAM:
        return between(0, amount.high)
    if share.tensor_class in UNLAYERED or inputs.launch.pp == 1:
        return amount
    layers, stages = inputs.shape.layers or inputs.launch.pp, inputs.launch.pp
    return amount.scaled(-(-layers // stages) / layers)


def _divisors(name: TensorClass, inputs: Inputs) -> tuple[int, int]:
    """By how much the class is divided: at best, at worst."""
    launch = inputs.launch
    tp, attention_tp = launch.tp, launch.attention_tp
    dense = 1 if launch.settings.get("moe_dense_tp_size") == 1 else tp
    kv_copies = min(attention_tp, inputs.shape.kv_heads or attention_tp)
    known = {
        **dict.fromkeys((TensorClass.EXPERTS, TensorClass.SHARED_EXPERTS, TensorClass.ENGRAM), (tp, tp)),
        **dict.fromkeys(BY_HEADS, (attention_tp, attention_tp)),
        TensorClass.ATTENTION_KV: (kv_copies, kv_copies),
        TensorClass.MLP: (dense, dense),
        TensorClass.LM_HEAD: (attention_tp if launch.flag("enable_dp_lm_head") else tp, attention_tp),
        TensorClass.VISION: (tp, 1),
    }
    return known.get(name, (1, 1))


def _grown(share: Share, inputs: Inputs) -> Interval:
    """What the load adds: FP8 tensors that are kept in bf16, and copies."""
    own = _on_rank(share, inputs)
    fp8 = share.dtype == "F8_E4M3"
    match share.tensor_class:
        case TensorClass.OUTPUT_A if fp8:
            # An FP8 GEMM keeps it as it is where the card has one; it is off on SM12x and ROCm.
            return own if (inputs.facts.arch or "").startswith(("sm_12", "gfx")) else between(0, own.high)
        case TensorClass.INDEXER if fp8 and inputs.shape.attention == "compressed":
            return own
        case TensorClass.KV_B:
            return own.scaled(2 if fp8 else 1)
        case TensorClass.EXPERTS if fp8 and inputs.facts.model.experts_dtype == "nvfp4":
            # Swizzled copies of the NVFP4 scales stay where padding prevents their reuse.
            return Interval(0, 0, own.high)
        case _:
            return NOTHING


def _layout(inputs: Inputs, spread: tuple[float, float]) -> tuple[float, float]:
    low, high = spread
    runner = inputs.launch.word("moe_runner_backend")
    chosen = runner in {"", "auto"} and inputs.facts.arch == "sm_90" and inputs.facts.model.experts_dtype == "mxfp4"
    return low, MARLIN if runner == "marlin" or chosen else high


def _tables(shape: Geometry) -> Iterator[Term]:
    """Rope tables of DeepSeek-V4: complex numbers of 8 bytes for every position, two distinct tables."""
    positions = max(shape.max_positions or 0, shape.rope_positions or 0)
    if shape.attention == "compressed" and positions and shape.rope_dim:
        size = ROPE_TABLES * positions * shape.rope_dim // 2 * 8
        yield _term("rope tables", exactly(size), "positions * rope / 2 * 8 B, two tables", Sure.INFERRED)


def _division(name: TensorClass, inputs: Inputs) -> str:
    best, worst = _divisors(name, inputs)
    return f"over {best}" if best == worst else f"over {worst} to {best}"
