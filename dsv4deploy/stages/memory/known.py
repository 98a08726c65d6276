"""Shapes of published models, for a launch whose model folder is not at hand: from their `config.json`.

They are constructed without a validator, which takes longer to build than the whole account; a test validates them.
"""

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.facts import ModelFacts

UNPUBLISHED = Geometry.model_construct()
V4_FLASH = Geometry.model_construct(
    attention="compressed",
    layers=43,
    hidden_size=4096,
    vocab_size=129280,
    max_positions=1 << 20,
    heads=64,
    kv_heads=1,
    head_dim=512,
    q_lora_rank=1024,
    o_lora_rank=1024,
    o_groups=8,
    rope_dim=64,
    index_heads=64,
    index_head_dim=128,
    # Two layers of window only, then 21 of ratio 4 and 20 of ratio 128, then the MTP layer's entry.
    compress_ratios=(0, 0, *((4, 128) * 20), 4, 0),
    hyper_connections=4,
    window=128,
    moe_intermediate=2048,
    experts=256,
    experts_per_token=6,
    shared_experts=1,
)
V4_PRO = V4_FLASH.model_copy(
    update={
        "layers": 61,
        "hidden_size": 7168,
        "heads": 128,
        "q_lora_rank": 1536,
        "o_groups": 16,
        "compress_ratios": (128, *((4, 128) * 30), 0),
        "moe_intermediate": 3072,
        "experts": 384,
    }
)
# Of V4.1 only what its cache depends on is public: 40 layers, one owner of ratio 1 and three of ratio 2.
V41_FLASH = Geometry.model_construct(
    attention="compressed",
    layers=40,
    heads=64,
    kv_heads=1,
    head_dim=512,
    rope_dim=64,
    index_head_dim=128,
    compress_ratios=(1, 2, 2, 2, *((0,) * 36)),
    kv_sources=(0, 1, 2, 3),
    window=128,
    max_positions=1 << 20,
)
V3 = Geometry.model_construct(
    attention="mla",
    layers=61,
    dense_layers=3,
    hidden_size=7168,
    vocab_size=129280,
    heads=128,
    kv_heads=128,
    q_lora_rank=1536,
    kv_lora_rank=512,
    nope_dim=128,
    rope_dim=64,
    v_head_dim=128,
    intermediate=18432,
    moe_intermediate=2048,
    experts=256,
    experts_per_token=8,
    shared_experts=1,
    draft_layers=1,
    max_positions=163840,
)
V32 = V3.model_copy(update={"index_heads": 64, "index_head_dim": 128})
GLM_5 = V32.model_copy(
    update={
        "layers": 78,
        "hidden_size": 6144,
        "vocab_size": 154880,
        "heads": 64,
        "kv_heads": 64,
        "q_lora_rank": 2048,
        "nope_dim": 192,
        "v_head_dim": 256,
        "intermediate": 12288,
        "index_heads": 32,
        "max_positions": 202752,
    }
)
# Kimi-K2 and K2.5: the class of DeepSeek-V3 with half the heads, more experts and one dense layer.
KIMI_K2 = V3.model_copy(
    update={
        "vocab_size": 163840,
        "heads": 64,
        "kv_heads": 64,
        "experts": 384,
        "dense_layers": 1,
        "draft_layers": None,
        "max_positions": 262144,
    }
)


def _grouped(layers: int, hidden: int, vocabulary: int, heads: tuple[int, int, int], **more: int) -> Geometry:
    """Grouped attention: layers, hidden size, vocabulary, then heads, key-value heads and their width."""
    query, shared, width = heads
    sizes = {"layers": layers, "hidden_size": hidden, "vocab_size": vocabulary}
    sizes |= {"heads": query, "kv_heads": shared, "head_dim": width}
    return UNPUBLISHED.model_copy(update={"attention": "gqa", **sizes, **more})


def _experts(count: int, width: int, chosen: int, shared: int = 0) -> dict[str, int]:
    return {
        "experts": count,
        "moe_intermediate": width,
        "experts_per_token": chosen,
        "shared_experts": shared,
    }


def _linear(layers: int, key_heads: int, value_heads: int) -> dict[str, int]:
    """Gated delta layers of Qwen3-Next and Qwen3.5: three of four layers, heads of 128, a convolution of 4."""
    return {
        "linear_layers": layers,
        "linear_key_heads": key_heads,
        "linear_value_heads": value_heads,
        "linear_key_dim": 128,
        "linear_value_dim": 128,
        "linear_conv": 4,
    }


QWEN3_NEXT = _grouped(48, 2048, 151936, (16, 2, 256), **_linear(36, 16, 32), **_experts(512, 512, 10, 1))
QWEN35_397B = _grouped(60, 4096, 248320, (32, 2, 256), **_linear(45, 16, 64), **_experts(512, 1024, 10, 1))
QWEN35_122B = _grouped(48, 3072, 248320, (32, 2, 256), **_linear(36, 16, 64), **_experts(256, 1024, 8, 1))
QWEN35_35B = _grouped(40, 2048, 248320, (16, 2, 256), **_linear(30, 16, 32), **_experts(256, 512, 8, 1))
QWEN3_30B = _grouped(48, 2048, 151936, (32, 4, 128), **_experts(128, 768, 8))
QWEN3_235B = _grouped(94, 4096, 151936, (64, 4, 128), **_experts(128, 1536, 8))
QWEN3_480B = _grouped(62, 6144, 151936, (96, 8, 128), **_experts(160, 2560, 8))
MINIMAX_M2 = _grouped(62, 3072, 200064, (48, 8, 128), **_experts(256, 1536, 8))
GLM_4 = _grouped(92, 5120, 151552, (96, 8, 128), dense_layers=3, intermediate=12288, **_experts(160, 1536, 8, 1))
GLM_4_AIR = _grouped(46, 4096, 151552, (96, 8, 128), dense_layers=1, intermediate=10944, **_experts(128, 1408, 8, 1))
# By model type, the width of an expert and their number, which together tell siblings apart.
PUBLISHED = {
    ("deepseek_v4", 2048, 256): V4_FLASH,
    ("deepseek_v4", 3072, 384): V4_PRO,
    ("deepseek_v3", 2048, 256): V3,
    ("deepseek_v32", 2048, 256): V32,
    ("glm_moe_dsa", 2048, 256): GLM_5,
    ("kimi_k2", 2048, 384): KIMI_K2,
    ("kimi_k25", 2048, 384): KIMI_K2,
    ("qwen3_next", 512, 512): QWEN3_NEXT,
    ("qwen3_5_moe", 1024, 512): QWEN35_397B,
    ("qwen3_5_moe", 1024, 256): QWEN35_122B,
    ("qwen3_5_moe", 512, 256): QWEN35_35B,
    ("qwen3_moe", 768, 128): QWEN3_30B,
    ("qwen3_moe", 1536, 128): QWEN3_235B,
    ("qwen3_moe", 2560, 160): QWEN3_480B,
    ("minimax_m2", 1536, 256): MINIMAX_M2,
    ("glm4_moe", 1536, 160): GLM_4,
    ("glm4_moe", 1408, 128): GLM_4_AIR,
}


def shape_of(model: ModelFacts) -> Geometry:
    """The published shape of this model; an empty one if none, or more than one, has its type and experts."""
    if model.model_type == "deepseek_v41":
        return V41_FLASH
    found = [
        shape
        for (kind, width, count), shape in PUBLISHED.items()
        if kind == model.model_type and width == model.moe_intermediate_size and model.n_routed_experts in (None, count)
    ]
    return found[0] if len(found) == 1 else UNPUBLISHED
