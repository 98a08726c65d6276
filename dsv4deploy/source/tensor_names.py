"""Which class a tensor belongs to, told from its name alone.

Covers the names of DeepSeek's own files (`layers.3.attn.wq_a`) and of Hugging Face files
(`model.layers.3.self_attn.q_a_proj`). The classes and how ranks divide them follow SGLang's model code as summarised
in docs/reference/memory-boots.md; a name that nobody knows is `other` and counts as held by every rank.
"""

import re
from functools import lru_cache

from dsv4deploy.model.checkpoint import TensorClass

# The first that matches names the class; layer and expert numbers are already replaced by `#`.
CLASSES = tuple(
    (re.compile(pattern), tensor_class)
    for pattern, tensor_class in (
        (r"\bengram", TensorClass.ENGRAM),
        (r"\b(visual|vision(_\w+)?|vit|image_\w+|multi_modal_projector|mm_projector|audio_\w+)\.", TensorClass.VISION),
        (r"shared_experts?(_gate)?\.", TensorClass.SHARED_EXPERTS),
        (r"\bexperts\b", TensorClass.EXPERTS),
        (r"\b(embed|embed_tokens|word_embeddings|wte)\.weight", TensorClass.EMBEDDING),
        (r"\b(lm_head|head|shared_head\.head)\.weight", TensorClass.LM_HEAD),
        (r"\b(indexer|compressor)\b", TensorClass.INDEXER),
        (r"\bwo_a\.", TensorClass.OUTPUT_A),
        (r"\bkv_b_proj\.", TensorClass.KV_B),
        (r"\b(wq_a|wkv|q_a_proj|kv_a_proj_with_mqa|fused_qkv_a_proj\w*)\.", TensorClass.ATTENTION_LATENT),
        (r"\b(linear_attn|mamba|mixer|conv1d|A_log|dt_bias)\b", TensorClass.LINEAR_ATTENTION),
        (r"attn\w*\.(k_proj|v_proj)\.", TensorClass.ATTENTION_KV),
        (r"norm|attn_sink|sinks|\bhc_|\bgate\.(weight|bias|e_score|tid2eid)|\brouter\.", TensorClass.ROUTER),
        (r"\b(attn|self_attn|attention|self_attention)\.", TensorClass.ATTENTION),
        (r"\b(mlp|ffn|feed_forward)\.", TensorClass.MLP),
    )
)
LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")
DRAFT = re.compile(r"(?:^|\.)(mtp|nextn|dspark|draft)(?:\.|_|$)")
SCALE = re.compile(r"(scale|scale_inv|scale_\d|scales|qzeros)$")
DIGITS = re.compile(r"\d+")


def tensor_class(name: str) -> TensorClass:
    """The class of the tensor `name`."""
    return _class_of(DIGITS.sub("#", name))


def is_draft(name: str, layers: int | None) -> bool:
    """Whether only speculation loads it: a draft module, or a layer behind the last one of the model."""
    if DRAFT.search(name):
        return True
    layer = LAYER.search(name)
    return layers is not None and layer is not None and int(layer[1][:9]) >= layers and "vis" not in name


def is_scale(name: str) -> bool:
    """Whether it scales quantized weights."""
    return SCALE.search(name) is not None


@lru_cache(maxsize=4096)
def _class_of(template: str) -> TensorClass:
    return next((found for pattern, found in CLASSES if pattern.search(template)), TensorClass.OTHER)
