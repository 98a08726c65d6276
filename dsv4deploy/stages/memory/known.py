"""Shapes of published models, for a launch whose model folder is not at hand: from their `config.json`.

They are constructed without a validator, which takes longer to build than the whole account; a test validates them.
"""

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.facts import ModelFacts

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
UNPUBLISHED = Geometry.model_construct()
# By model type and the numbers that tell siblings apart.
PUBLISHED = {
    ("deepseek_v4", 2048): V4_FLASH,
    ("deepseek_v4", 3072): V4_PRO,
    ("deepseek_v3", 2048): V3,
    ("deepseek_v32", 2048): V32,
    ("glm_moe_dsa", 2048): GLM_5,
}


def shape_of(model: ModelFacts) -> Geometry:
    """The published shape of this model; an empty one if none has its type and expert size."""
    if model.model_type == "deepseek_v41":
        return V41_FLASH
    shape = PUBLISHED.get((model.model_type or "", model.moe_intermediate_size or 0), UNPUBLISHED)
    if model.n_routed_experts not in (None, shape.experts):
        return UNPUBLISHED
    return shape
