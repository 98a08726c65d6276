"""The shape of a model, from configurations as they are published."""

import pytest

from dsv4deploy.source.model_config import geometry, model_facts, read_config

HYBRID = {
    "model_type": "qwen3_5_moe",
    "text_config": {
        "num_hidden_layers": 60,
        "full_attention_interval": 4,
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "num_experts": 512,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 64,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    },
}


def test_a_hybrid_model_inside_a_multimodal_one() -> None:
    config = read_config(HYBRID, {})
    shape = geometry(config)
    assert (shape.attention, shape.layers, shape.linear_layers, shape.kv_heads, shape.head_dim) == (
        "gqa",
        60,
        45,
        2,
        256,
    )
    facts = model_facts(config)
    assert (facts["model_type"], facts["n_routed_experts"], facts["num_key_value_heads"]) == ("qwen3_5_moe", 512, 2)


def test_windowed_layers_are_counted_by_kind() -> None:
    kinds = ["sliding_attention", "full_attention"] * 18
    shape = geometry(
        read_config(
            {"num_hidden_layers": 36, "num_attention_heads": 64, "sliding_window": 128, "layer_types": kinds}, {}
        )
    )
    assert (shape.window, shape.window_layers) == (128, 18)


def test_a_window_that_is_switched_off_does_not_count() -> None:
    tree = {"num_hidden_layers": 2, "num_attention_heads": 4, "sliding_window": 128, "use_sliding_window": False}
    assert geometry(read_config({**tree, "layer_types": ["sliding_attention"] * 2}, {})).window_layers is None


@pytest.mark.parametrize(
    ("tree", "attention"),
    [
        ({"compress_ratios": [0, 4, 128], "num_attention_heads": 64, "kv_lora_rank": 512}, "compressed"),
        ({"kv_lora_rank": 512, "num_attention_heads": 128}, "mla"),
        ({"num_attention_heads": 32}, "gqa"),
        ({}, None),
    ],
)
def test_kind_of_attention(tree: dict[str, object], attention: str | None) -> None:
    assert geometry(read_config(tree, {})).attention == attention


def test_what_is_not_written_stays_unknown_except_what_follows() -> None:
    shape = geometry(read_config({"num_attention_heads": 8, "hidden_size": 64}, {}))
    assert (shape.kv_heads, shape.head_dim, shape.experts, shape.layers) == (8, 8, None, None)


def test_the_quantization_of_config_json_wins_over_the_file_beside_it() -> None:
    config = read_config(
        {"quantization_config": {"quant_method": "fp8"}}, {"quantization": {"quant_algo": "NVFP4", "quant_method": "x"}}
    )
    assert model_facts(config)["quant_method"] == "fp8"


@pytest.mark.parametrize(
    ("quantization", "group"),
    [
        ({"quant_method": "awq", "group_size": 128}, 128),
        ({"quant_method": "awq", "q_group_size": 64}, 64),
        ({"quant_method": "gptq", "group_size": -1}, None),
        ({"quant_method": "gptq"}, None),
        ({"quant_method": "fp8", "group_size": 128}, None),
    ],
)
def test_the_group_of_4_bit_weights_is_read(quantization: dict[str, object], group: int | None) -> None:
    assert model_facts(read_config({"quantization_config": quantization}, {}))["weight_group_size"] == group


def test_a_bundled_draft_is_told_by_its_keys() -> None:
    assert model_facts(read_config({"dspark_config": {}}, {}))["bundled_draft"] == "dspark"


@pytest.mark.parametrize(
    ("scaling", "positions"),
    [
        ({"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536}, 1 << 20),
        ({"factor": 1.5, "original_max_position_embeddings": 1000}, 1500),
        ({"factor": float("inf"), "original_max_position_embeddings": 1000}, None),
        ({"factor": True, "original_max_position_embeddings": 1000}, None),
        ({"factor": 2}, None),
        ([], None),
    ],
)
def test_scaling_stretches_the_rope_tables(scaling: object, positions: int | None) -> None:
    assert geometry(read_config({"rope_scaling": scaling}, {})).rope_positions == positions


def test_layers_that_own_the_cache_of_deepseek_v41() -> None:
    tree = {"compress_ratios": [1, 2, 0], "kv_source_layer_ids": [0, 1], "num_attention_heads": 64}
    assert geometry(read_config({"text_config": tree}, {})).kv_sources == (0, 1)


@pytest.mark.parametrize(
    ("vision", "heads"),
    [({"num_heads": 16}, 16), ({"num_attention_heads": 12}, 12), ({"vt_num_attention_heads": 16}, 16), ({}, None)],
)
def test_heads_of_the_vision_tower_are_not_those_of_the_text(vision: dict[str, object], heads: int | None) -> None:
    tree = {"text_config": {"num_attention_heads": 32}, "vision_config": vision}
    facts = model_facts(read_config(tree, {}))
    assert (facts["num_attention_heads"], facts["vision_num_heads"]) == (32, heads)
