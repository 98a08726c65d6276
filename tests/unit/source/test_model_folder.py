"""A model folder is read from its texts and headers alone, whatever is in it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.model.checkpoint import TensorClass
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.model_folder import read_model_folder
from tests.folders import MemoryFolder, config, index, safetensors

V4 = config(
    model_type="deepseek_v4",
    architectures=["DeepseekV4ForCausalLM"],
    num_hidden_layers=1,
    hidden_size=64,
    num_attention_heads=4,
    num_key_value_heads=1,
    head_dim=32,
    n_routed_experts=1,
    compress_ratios=[4, 0],
    num_nextn_predict_layers=1,
    quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
)
FIRST = {
    "embed.weight": ("BF16", [8, 4], 64),
    "layers.0.attn.wq_a.weight": ("F8_E4M3", [4, 4], 16),
    "layers.0.attn.wo_a.weight": ("F8_E4M3", [4, 8], 32),
    "layers.0.ffn.experts.0.w1.weight": ("I8", [4, 4], 16),
    "layers.0.ffn.experts.0.w1.scale": ("F8_E8M0", [2], 2),
    "layers.0.ffn.shared_experts.w1.weight": ("F8_E4M3", [4, 4], 16),
}
SECOND = {
    "head.weight": ("BF16", [8, 4], 64),
    "mtp.0.ffn.experts.0.w1.weight": ("I8", [4, 4], 16),
}
FILES = {"model-00001-of-00002.safetensors": FIRST, "model-00002-of-00002.safetensors": SECOND}


def folder(**changes: bytes | None) -> MemoryFolder:
    files = {"config.json": V4, "model.safetensors.index.json": index(FILES, total=999)}
    files |= {name: safetensors(tensors) for name, tensors in FILES.items()}
    files |= {name: data for name, data in changes.items() if data is not None}
    return MemoryFolder({name: data for name, data in files.items() if changes.get(name, data) is not None})


def test_a_whole_folder_tells_quantization_classes_and_draft() -> None:
    reading = read_model_folder(folder())
    facts = reading.facts
    assert (facts.model_type, facts.quant_method, facts.experts_dtype, facts.shared_experts_dtype) == (
        "deepseek_v4",
        "fp8",
        "mxfp4",
        "fp8",
    )
    assert facts.weight_bytes == 226
    assert (facts.has_mtp, facts.has_scale_tensors, facts.index_complete) == (True, True, True)
    assert (facts.missing_shards, facts.truncated_shards, facts.lfs_pointers) == ((), (), ())
    assert facts.tensor_dtypes == ("BF16", "F8_E4M3", "F8_E8M0", "I8")
    sizes = {(share.tensor_class, share.draft): 0 for share in reading.checkpoint.weights}
    for share in reading.checkpoint.weights:
        sizes[share.tensor_class, share.draft] += share.bytes
    assert sizes == {
        (TensorClass.EMBEDDING, False): 64,
        (TensorClass.ATTENTION_LATENT, False): 16,
        (TensorClass.OUTPUT_A, False): 32,
        (TensorClass.EXPERTS, False): 18,
        (TensorClass.EXPERTS, True): 16,
        (TensorClass.SHARED_EXPERTS, False): 16,
        (TensorClass.LM_HEAD, False): 64,
    }
    assert reading.checkpoint.weights_from == "headers"
    assert reading.checkpoint.geometry.attention == "compressed"
    assert reading.notes == ()


def test_only_headers_are_read() -> None:
    tensors = {"lm_head.weight": ("BF16", [1000, 500], 1_000_000)}
    big = MemoryFolder({"config.json": config(model_type="llama"), "model.safetensors": safetensors(tensors)})
    assert read_model_folder(big).facts.weight_bytes == 1_000_000
    assert big.bytes_read < 1_000


def test_a_missing_shard_is_named() -> None:
    facts = read_model_folder(folder(**{"model-00002-of-00002.safetensors": None})).facts
    assert facts.missing_shards == ("model-00002-of-00002.safetensors",)
    assert facts.index_complete is False


def test_missing_shards_are_told_without_an_index_too() -> None:
    facts = read_model_folder(
        folder(**{"model-00001-of-00002.safetensors": None, "model.safetensors.index.json": None})
    ).facts
    assert facts.missing_shards == ("model-00001-of-00002.safetensors",)


@pytest.mark.parametrize("keep", [0, 5, 20, -1])
def test_a_file_that_ends_early_is_truncated(keep: int) -> None:
    short = safetensors(SECOND)[:keep]
    facts = read_model_folder(folder(**{"model-00002-of-00002.safetensors": short})).facts
    assert facts.truncated_shards == ("model-00002-of-00002.safetensors",)
    assert facts.index_complete is False


def test_a_git_lfs_pointer_is_told_from_a_broken_file() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 226\n"
    facts = read_model_folder(folder(**{"model-00002-of-00002.safetensors": pointer})).facts
    assert facts.lfs_pointers == ("model-00002-of-00002.safetensors",)
    assert facts.truncated_shards == ()


def test_the_index_speaks_where_no_header_can() -> None:
    reading = read_model_folder(folder(**dict.fromkeys(FILES)))
    assert reading.facts.weight_bytes == 999
    assert reading.facts.has_mtp is True
    assert reading.checkpoint.weights == ()
    assert any("total_size" in note for note in reading.notes)


def test_mtp_promised_by_the_configuration_but_absent_is_false() -> None:
    files = {"model.safetensors": FIRST}
    reading = read_model_folder(
        MemoryFolder({"config.json": V4, "model.safetensors": safetensors(files["model.safetensors"])})
    )
    assert reading.facts.has_mtp is False


def test_a_layer_behind_the_last_one_is_the_draft() -> None:
    tensors = {
        "model.layers.0.mlp.experts.0.gate_proj.weight": ("BF16", [4], 8),
        "model.layers.1.mlp.experts.0.gate_proj.weight": ("BF16", [4], 8),
    }
    reading = read_model_folder(
        MemoryFolder(
            {
                "config.json": config(model_type="deepseek_v3", num_hidden_layers=1),
                "model.safetensors": safetensors(tensors),
            }
        )
    )
    assert reading.facts.has_mtp is True
    assert reading.checkpoint.bytes_of(draft=True) == 8


KINDS = [
    (
        {"quant_method": "modelopt", "quant_algo": "NVFP4"},
        {},
        {"w.experts.0.w": "U8", "w.experts.0.w_scale": "F8_E4M3"},
        ("modelopt_fp4", "NVFP4", None, "nvfp4"),
    ),
    (
        {},
        {"quantization": {"quant_algo": "NVFP4"}},
        {"w.experts.0.w": "U8", "w.experts.0.w_scale": "F8_E4M3"},
        ("modelopt_fp4", "NVFP4", None, "nvfp4"),
    ),
    (
        {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": "NVFP4"},
        {},
        {"w.experts.0.w": "U8", "w.experts.0.w_scale": "F8_E4M3"},
        ("modelopt", "MIXED_PRECISION", "NVFP4", "nvfp4"),
    ),
    ({"quant_method": "fp8"}, {}, {"w.experts.0.w": "F8_E4M3"}, ("fp8", None, None, "fp8")),
    ({"quant_method": "mxfp4"}, {}, {"w.experts.w": "U8", "w.experts.w_scales": "U8"}, ("mxfp4", None, None, "mxfp4")),
    (
        {"quant_method": "awq"},
        {},
        {"w.experts.0.qweight": "I32", "w.experts.0.scales": "F16"},
        ("awq", None, None, "int4"),
    ),
    ({"quant_method": "compressed-tensors"}, {}, {"w.experts.0.w": "I32"}, ("compressed-tensors", None, None, "int4")),
    ({}, {}, {"w.experts.0.w": "BF16"}, (None, None, None, "bf16")),
]


@pytest.mark.parametrize(("inside", "beside", "tensors", "expected"), KINDS)
def test_kinds_of_quantization(
    inside: dict[str, object], beside: dict[str, object], tensors: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    facts = read_model_folder(
        MemoryFolder(
            {
                "config.json": config(model_type="x", text_config={"num_hidden_layers": 2}, quantization_config=inside),
                "hf_quant_config.json": json.dumps(beside).encode(),
                "model.safetensors": safetensors({name: (dtype, [4], 4) for name, dtype in tensors.items()}),
            }
        )
    ).facts
    assert (facts.quant_method, facts.quant_algo, facts.moe_quant_algo, facts.experts_dtype) == expected
    assert facts.num_hidden_layers == 2


@pytest.mark.parametrize(
    "text", [None, b"", b"[]", b"nonsense", b"[" * 100_000, b"version https://git-lfs.github.com/spec/v1\n"]
)
def test_a_folder_without_a_readable_config_is_refused_with_a_remedy(text: bytes | None) -> None:
    with pytest.raises(Trouble) as trouble:
        read_model_folder(folder(**{"config.json": text}))
    assert trouble.value.remedy


HOSTILE = [
    b"\xff" * 8 + b"{}",
    (3).to_bytes(8, "little") + b"[1]",
    (9).to_bytes(8, "little") + b'{"a": [1]}',
    (100_000).to_bytes(8, "little") + b"[" * 100_000,
    safetensors({}).replace(b"{}", b"}{"),
    *(
        len(text).to_bytes(8, "little") + text
        for text in (
            b'{"a": {"dtype": "BF16", "shape": [1], "data_offsets": [5, 1]}}',
            b'{"a": {"dtype": "BF16", "shape": [-1], "data_offsets": [0, 1]}}',
            b'{"a": {"dtype": "BF16", "shape": [1.5], "data_offsets": [0, 1]}}',
            b'{"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0]}}',
            b'{"a": {"shape": [1], "data_offsets": [0, 1]}}',
        )
    ),
]


@pytest.mark.parametrize("data", HOSTILE)
def test_a_hostile_header_is_a_note(data: bytes) -> None:
    reading = read_model_folder(folder(**{"model-00002-of-00002.safetensors": data}))
    assert reading.facts.index_complete is False
    assert any("model-00002-of-00002.safetensors is no safetensors file" in note for note in reading.notes)


@given(st.binary(max_size=200), st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5))
def test_whatever_the_bytes_and_values_reading_ends_well(data: bytes, value: object) -> None:
    tree = dict.fromkeys(
        ("num_hidden_layers", "compress_ratios", "layer_types", "quantization_config", "text_config"), value
    )
    files = {"config.json": json.dumps(tree).encode(), "model.safetensors": data, "model.safetensors.index.json": data}
    assert read_model_folder(MemoryFolder(files)).facts.weight_bytes is None


def test_the_width_of_the_drafts_experts_and_its_blocks() -> None:
    draft = {
        "mtp.0.ffn.experts.0.gate_proj.weight": ("F8_E4M3", [640, 256], 640 * 256),
        "mtp.0.ffn.experts.0.gate_proj.weight_scale_inv": ("F32", [5, 2], 40),
    }
    tensors = {"lm_head.weight": ("BF16", [8, 4], 64), **draft}
    facts = read_model_folder(MemoryFolder({"config.json": V4, "model.safetensors": safetensors(tensors)})).facts
    assert (facts.mtp_moe_intermediate_size, facts.mtp_weight_block_size) == (640, (128, 128))


def test_a_draft_whose_experts_have_no_scales_has_no_blocks() -> None:
    tensors = {"mtp.0.ffn.experts.0.gate_proj.weight": ("BF16", [640, 256], 640 * 512)}
    facts = read_model_folder(MemoryFolder({"config.json": V4, "model.safetensors": safetensors(tensors)})).facts
    assert (facts.mtp_moe_intermediate_size, facts.mtp_weight_block_size) == (640, None)
