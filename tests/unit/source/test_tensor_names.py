"""Names tell the class, in DeepSeek's own spelling and in Hugging Face's."""

import pytest

from dsv4deploy.model.checkpoint import TensorClass
from dsv4deploy.source.tensor_names import is_draft, is_scale, tensor_class

CLASSES = {
    "embed.weight": TensorClass.EMBEDDING,
    "model.embed_tokens.weight": TensorClass.EMBEDDING,
    "head.weight": TensorClass.LM_HEAD,
    "lm_head.weight": TensorClass.LM_HEAD,
    "layers.3.attn.wq_a.weight": TensorClass.ATTENTION_LATENT,
    "layers.3.attn.wkv.weight": TensorClass.ATTENTION_LATENT,
    "layers.3.attn.wq_b.weight": TensorClass.ATTENTION,
    "layers.3.attn.wo_a.weight": TensorClass.OUTPUT_A,
    "layers.3.attn.wo_b.scale": TensorClass.ATTENTION,
    "layers.3.attn.compressor.wkv.weight": TensorClass.INDEXER,
    "layers.3.attn.indexer.wq_b.weight": TensorClass.INDEXER,
    "layers.3.attn.attn_sink": TensorClass.ROUTER,
    "layers.3.attn_norm.weight": TensorClass.ROUTER,
    "layers.3.hc_attn_fn": TensorClass.ROUTER,
    "layers.3.ffn.gate.weight": TensorClass.ROUTER,
    "layers.3.ffn.experts.12.w1.weight": TensorClass.EXPERTS,
    "layers.3.ffn.shared_experts.w2.weight": TensorClass.SHARED_EXPERTS,
    "model.layers.3.self_attn.q_a_proj.weight": TensorClass.ATTENTION_LATENT,
    "model.layers.3.self_attn.kv_a_proj_with_mqa.weight": TensorClass.ATTENTION_LATENT,
    "model.layers.3.self_attn.q_b_proj.weight": TensorClass.ATTENTION,
    "model.layers.3.self_attn.kv_b_proj.weight": TensorClass.KV_B,
    "model.layers.3.self_attn.o_proj.weight_scale_inv": TensorClass.ATTENTION,
    "model.layers.3.self_attn.k_proj.weight": TensorClass.ATTENTION_KV,
    "model.layers.3.mlp.gate_proj.weight": TensorClass.MLP,
    "model.layers.3.mlp.gate.weight": TensorClass.ROUTER,
    "model.layers.3.mlp.experts.gate_up_proj": TensorClass.EXPERTS,
    "model.layers.3.mlp.shared_expert.up_proj.weight": TensorClass.SHARED_EXPERTS,
    "model.layers.3.linear_attn.in_proj_qkvz.weight": TensorClass.LINEAR_ATTENTION,
    "model.visual.blocks.3.attn.qkv.weight": TensorClass.VISION,
    "model.layers.3.engram.table.weight": TensorClass.ENGRAM,
    "vision.blocks.3.attn.wq.weight": TensorClass.VISION,
    "something.new": TensorClass.OTHER,
}


@pytest.mark.parametrize(("name", "expected"), CLASSES.items())
def test_class_of(name: str, expected: TensorClass) -> None:
    assert tensor_class(name) is expected


@pytest.mark.parametrize(
    ("name", "layers", "expected"),
    [
        ("mtp.0.attn.wq_a.weight", 43, True),
        ("model.mtp.layers.0.mlp.gate.weight", 60, True),
        ("model.layers.61.eh_proj.weight", 61, True),
        ("model.layers.60.mlp.gate.weight", 61, False),
        ("model.layers.61.mlp.gate.weight", None, False),
        ("model.vision_tower.layers.61.weight", 61, False),
    ],
)
def test_what_only_speculation_loads(name: str, layers: int | None, expected: bool) -> None:
    assert is_draft(name, layers) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.weight_scale_inv", True), ("a.weight_scale_2", True), ("a.scales", True), ("a.weight", False)],
)
def test_scales(name: str, expected: bool) -> None:
    assert is_scale(name) is expected
