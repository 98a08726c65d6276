"""Weight bytes by tensor class from the shape alone, for a model whose files are not at hand.

Element counts follow the public configurations; formats are bytes a parameter with their scales.
"""

from collections.abc import Iterator

from dsv4deploy.model.checkpoint import Geometry, Share, TensorClass
from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.stages.memory.shape import MissingError, numbers

FORMATS = {
    "mxfp4": 0.5 + 1 / 32,
    "nvfp4": 0.5 + 1 / 16,
    "int4": 0.5 + 1 / 64,
    "fp8": 1 + 4 / 16384,
    "int8": 1.0,
    "bf16": 2.0,
    "fp16": 2.0,
}
BY_METHOD = {
    "fp8": "fp8",
    "modelopt_fp8": "fp8",
    "modelopt_fp4": "nvfp4",
    "mxfp4": "mxfp4",
    "awq": "int4",
    "gptq": "int4",
    "compressed-tensors": "int4",
}
DTYPES = {"fp8": "F8_E4M3", "mxfp4": "F4", "nvfp4": "F4", "int4": "I32", "bf16": "BF16", "fp16": "F16", "int8": "I8"}


Elements = Iterator[tuple[TensorClass, float, str | None]]


def estimated_shares(shape: Geometry, facts: ModelFacts) -> tuple[Share, ...]:
    """The shares of a model of this shape, draft excluded.

    Raises:
        MissingError: the shape does not say enough, or nobody knows the format of the experts.
    """
    experts = facts.experts_dtype or BY_METHOD.get(facts.quant_method or "")
    if experts not in FORMATS:
        raise MissingError("quant_method")
    # NVIDIA's plain NVFP4 files keep attention in bf16; FP8 files and its hybrids of them keep FP8 there.
    rest = "fp8" if facts.quant_method in {"fp8", "modelopt_fp8", "modelopt"} else "bf16"
    attention = {"compressed": _compressed, "mla": _mla}.get(shape.attention or "", _gqa)
    return tuple(
        _share(name, count, kept or (experts if name is TensorClass.EXPERTS else rest))
        for part in (attention(shape), _feed_forward(shape), _ends(shape))
        for name, count, kept in part
        if count
    )


def _compressed(shape: Geometry) -> Elements:
    hidden, heads, width, layers = numbers(shape, "hidden_size", "heads", "head_dim", "layers")
    q_rank, o_rank, groups, streams = numbers(shape, "q_lora_rank", "o_lora_rank", "o_groups", "hyper_connections")
    index_heads, index_width = numbers(shape, "index_heads", "index_head_dim")
    ratios = (shape.compress_ratios or ())[:layers]
    yield TensorClass.ATTENTION, layers * (q_rank * heads * width + groups * o_rank * hidden), None
    yield TensorClass.OUTPUT_A, layers * heads * width * o_rank, None
    yield TensorClass.ATTENTION_LATENT, layers * hidden * (q_rank + width), None
    pooled = hidden * 4 * (width + index_width) + q_rank * index_heads * index_width
    yield TensorClass.INDEXER, ratios.count(4) * pooled + ratios.count(128) * hidden * 2 * width, "bf16"
    # Two fp32 matrices a layer mix the streams; they are counted as twice as many bf16 ones.
    yield TensorClass.ROUTER, layers * 4 * (2 + streams) * streams * streams * hidden, "bf16"


def _mla(shape: Geometry) -> Elements:
    hidden, heads, layers = numbers(shape, "hidden_size", "heads", "layers")
    kv_rank, nope, rope, value = numbers(shape, "kv_lora_rank", "nope_dim", "rope_dim", "v_head_dim")
    q_rank = shape.q_lora_rank or 0
    query = (q_rank or hidden) * heads * (nope + rope)
    yield TensorClass.ATTENTION, layers * (query + heads * value * hidden), None
    yield TensorClass.KV_B, layers * kv_rank * heads * (nope + value), None
    yield TensorClass.ATTENTION_LATENT, layers * hidden * (q_rank + kv_rank + rope), None
    if shape.index_heads and shape.index_head_dim:
        width = shape.index_head_dim
        yield TensorClass.INDEXER, layers * (q_rank * shape.index_heads * width + hidden * width), None
        yield TensorClass.INDEXER, layers * 2 * hidden * shape.index_heads, "bf16"


def _gqa(shape: Geometry) -> Elements:
    hidden, heads, kv_heads, width, layers = numbers(shape, "hidden_size", "heads", "kv_heads", "head_dim", "layers")
    linear = shape.linear_layers or 0
    full = layers - linear
    yield TensorClass.ATTENTION, full * hidden * heads * (width + (shape.v_head_dim or width)), None
    yield TensorClass.ATTENTION_KV, full * hidden * kv_heads * (width + (shape.v_head_dim or width)), None
    if linear:
        names = ("linear_key_heads", "linear_value_heads", "linear_key_dim", "linear_value_dim")
        key_heads, value_heads, key, value = numbers(shape, *names)
        inner = 2 * key_heads * key + 3 * value_heads * value + 2 * value_heads
        yield TensorClass.LINEAR_ATTENTION, linear * hidden * inner, None


def _feed_forward(shape: Geometry) -> Elements:
    hidden, layers = numbers(shape, "hidden_size", "layers")
    if not shape.experts:
        (inner,) = numbers(shape, "intermediate")
        yield TensorClass.MLP, 3 * hidden * inner * layers, None
        return
    (inner,) = numbers(shape, "moe_intermediate")
    dense = shape.dense_layers or 0
    sparse = layers - dense
    yield TensorClass.EXPERTS, 3 * hidden * inner * shape.experts * sparse, None
    yield TensorClass.SHARED_EXPERTS, 3 * hidden * inner * (shape.shared_experts or 0) * sparse, None
    yield TensorClass.MLP, 3 * hidden * (shape.intermediate or 0) * dense, None
    yield TensorClass.ROUTER, shape.experts * hidden * sparse, "bf16"


def _ends(shape: Geometry) -> Elements:
    vocabulary, hidden = numbers(shape, "vocab_size", "hidden_size")
    yield TensorClass.EMBEDDING, vocabulary * hidden, "bf16"
    yield TensorClass.LM_HEAD, 0 if shape.tied_embeddings else vocabulary * hidden, "bf16"


def _share(name: TensorClass, count: float, kept: str) -> Share:
    return Share(tensor_class=name, dtype=DTYPES[kept], bytes=int(count * FORMATS[kept]))
