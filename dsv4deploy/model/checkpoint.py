"""What a model folder tells beyond facts: the shape that memory depends on, and its weight bytes by tensor class."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from dsv4deploy.model.facts import Frozen, ModelFacts, Whole


class TensorClass(StrEnum):
    """Tensors that the engine divides over its ranks in the same way."""

    EXPERTS = "experts"
    SHARED_EXPERTS = "shared_experts"
    MLP = "mlp"
    ATTENTION = "attention"
    ATTENTION_KV = "attention_kv"
    ATTENTION_LATENT = "attention_latent"
    OUTPUT_A = "attention_wo_a"
    KV_B = "attention_kv_b"
    INDEXER = "indexer"
    LINEAR_ATTENTION = "linear_attention"
    ROUTER = "router"
    EMBEDDING = "embedding"
    LM_HEAD = "lm_head"
    VISION = "vision"
    ENGRAM = "engram"
    OTHER = "other"


class Share(Frozen):
    """The bytes on disk of one class in one dtype (as safetensors spells it); `draft`: only speculation loads them."""

    tensor_class: TensorClass
    dtype: str
    bytes: int
    draft: bool = False


class Geometry(Frozen):
    """The shape of a model as far as its memory depends on it; None is not known.

    Attributes:
        attention: `gqa` (MHA and MQA too), `mla` (with an indexer: DSA) or `compressed` (DeepSeek-V4).
        compress_ratios: one a layer, 0 for window only; DeepSeek-V4.
        kv_sources: layers that own a cache of ratio 1 or 2, which later layers share; DeepSeek-V4.1.
        rope_positions: positions of the rope tables, where scaling stretches them beyond `max_positions`.
        window_layers: layers that keep only `window` tokens.
        linear_layers: layers with a recurrent state instead of a cache.
    """

    attention: Literal["gqa", "mla", "compressed"] | None = None
    layers: Whole = None
    hidden_size: Whole = None
    vocab_size: Whole = None
    max_positions: Whole = None
    rope_positions: Whole = None
    heads: Whole = None
    kv_heads: Whole = None
    head_dim: Whole = None
    v_head_dim: Whole = None
    q_lora_rank: Whole = None
    kv_lora_rank: Whole = None
    o_lora_rank: Whole = None
    o_groups: Whole = None
    nope_dim: Whole = None
    rope_dim: Whole = None
    index_heads: Whole = None
    index_head_dim: Whole = None
    compress_ratios: tuple[int, ...] | None = None
    kv_sources: tuple[int, ...] | None = None
    hyper_connections: Whole = None
    window: Whole = None
    window_layers: Whole = None
    linear_layers: Whole = None
    linear_key_heads: Whole = None
    linear_value_heads: Whole = None
    linear_key_dim: Whole = None
    linear_value_dim: Whole = None
    linear_conv: Whole = None
    intermediate: Whole = None
    moe_intermediate: Whole = None
    experts: Whole = None
    experts_per_token: Whole = None
    shared_experts: Whole = None
    dense_layers: Whole = None
    draft_layers: Whole = None
    tied_embeddings: bool | None = None


class Checkpoint(Frozen):
    """One model folder; `weights_from` says what the shares were read from."""

    geometry: Geometry = Geometry.model_construct()
    weights: tuple[Share, ...] = ()
    weights_from: Literal["headers", "config"] | None = None

    def bytes_of(self, classes: Iterable[TensorClass] = TensorClass, *, draft: bool = False) -> int:
        """Bytes on disk of these classes."""
        wanted = set(classes)
        return sum(share.bytes for share in self.weights if share.draft is draft and share.tensor_class in wanted)


class ModelReading(Frozen):
    """What was read of one model folder, and what could not be (one sentence each)."""

    facts: ModelFacts
    checkpoint: Checkpoint
    notes: tuple[str, ...] = ()
