"""What `config.json` and `hf_quant_config.json` say: the facts of a model and the shape of its attention."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dsv4deploy.model.checkpoint import Geometry

Tree = Mapping[str, Any]
QUANT_METHODS = {"NVFP4": "modelopt_fp4", "FP8": "modelopt_fp8", "MIXED_PRECISION": "modelopt_mixed"}
# Beyond it a scaling factor is no scaling but a mistake.
MOST_FACTOR = 10_000
VISION_HEADS = ("num_heads", "num_attention_heads", "vt_num_attention_heads")
EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")


@dataclass(frozen=True, slots=True)
class Config:
    """The two texts of one model, the language model's part of a multimodal one on top."""

    whole: Tree
    quantization: Tree

    @property
    def text(self) -> Tree:
        """The part that describes the language model."""
        for key in ("text_config", "llm_config", "language_config"):
            if isinstance(self.whole.get(key), Mapping):
                return {**self.whole, **self.whole[key]}
        return self.whole

    @property
    def vision_heads(self) -> int | None:
        """Attention heads of the vision tower, under the names of Qwen-VL, SigLIP's kind and MoonViT."""
        parts = (self.whole.get(key) for key in ("vision_config", "vit_config"))
        vision = next((part for part in parts if isinstance(part, Mapping)), {})
        return next((found for key in VISION_HEADS if (found := _whole(vision.get(key))) is not None), None)

    def number(self, *keys: str) -> int | None:
        """The first of these that is a whole number."""
        return next((found for key in keys if (found := _whole(self.text.get(key))) is not None), None)


def read_config(whole: Tree, quantization: Tree) -> Config:
    """The configuration from the trees of `config.json` and `hf_quant_config.json` (empty if there is none)."""
    inside = whole.get("quantization_config")
    if not isinstance(inside, Mapping):
        inside = Config(whole, {}).text.get("quantization_config")
    beside = quantization.get("quantization")
    own = inside if isinstance(inside, Mapping) else {}
    return Config(whole, {**(beside if isinstance(beside, Mapping) else {}), **own})


def model_facts(config: Config) -> dict[str, object]:
    """Keys of `ModelFacts` that the configuration decides."""
    text = config.text
    heads, hidden = config.number("num_attention_heads"), config.number("hidden_size")
    return {
        # The checkpoint's own type, not the language model's inside it: it is what SGLang looks at.
        "model_type": _word(config.whole.get("model_type")),
        "architectures": _words(config.whole.get("architectures")),
        "num_attention_heads": heads,
        "num_key_value_heads": config.number("num_key_value_heads"),
        "num_hidden_layers": config.number("num_hidden_layers"),
        "hidden_size": hidden,
        "head_dim": config.number("head_dim") or (hidden // heads if hidden and heads else None),
        "vocab_size": config.number("vocab_size"),
        "n_routed_experts": config.number(*EXPERTS),
        "moe_intermediate_size": config.number("moe_intermediate_size"),
        "intermediate_size": config.number("intermediate_size"),
        "qk_rope_head_dim": config.number("qk_rope_head_dim"),
        "max_position_embeddings": config.number("max_position_embeddings"),
        "vision_num_heads": config.vision_heads,
        **quantization_facts(config),
        "experts_dtype": _experts_dtype(config),
        "bundled_draft": next((kind for kind in ("dspark", "dflash") if any(kind in key for key in text)), None),
    }


# Methods whose weights come in groups of inputs that share a scale.
GROUPED: Final = {"awq", "awq_marlin", "gptq", "gptq_marlin", "auto-round"}


def quantization_facts(config: Config) -> dict[str, object]:
    """The kind of quantization, under the names that SGLang gives them; nothing for an unquantized model."""
    quant = config.quantization
    algo = _word(quant.get("quant_algo"))
    method = _word(quant.get("quant_method"))
    if method is None or (method == "modelopt" and algo in {"NVFP4", "FP8"}):
        method = QUANT_METHODS.get(algo or "", method)
    return {
        "quant_method": method,
        "quant_algo": algo,
        "moe_quant_algo": _word(quant.get("moe_quant_algo")),
        "weight_block_size": _numbers(quant.get("weight_block_size")),
        "weight_group_size": _group_size(quant) if method in GROUPED else None,
    }


def _group_size(quant: Mapping[str, object]) -> int | None:
    """How many inputs share a scale; -1 says all of them, so that nothing can be cut."""
    said = quant.get("group_size", quant.get("q_group_size"))
    return said if isinstance(said, int) and said > 0 else None


def _experts_dtype(config: Config) -> str | None:
    facts = quantization_facts(config)
    if "NVFP4" in (facts["moe_quant_algo"], facts["quant_algo"]):
        return "nvfp4"
    if facts["quant_method"] == "mxfp4" or config.text.get("expert_dtype") == "fp4":
        return "mxfp4"
    return _word(config.text.get("expert_dtype"))


def geometry(config: Config) -> Geometry:
    """The shape of the model; what the configuration does not say stays unknown."""
    number, text = config.number, config.text
    layers, heads, hidden = number("num_hidden_layers"), number("num_attention_heads"), number("hidden_size")
    ratios = text.get("compress_ratios")
    attention = "compressed" if ratios else "mla" if number("kv_lora_rank") else "gqa" if heads else None
    window = number("sliding_window", "window_size") if text.get("use_sliding_window", True) else None
    kinds = _layer_kinds(config, layers)
    return Geometry.model_validate(
        {
            "attention": attention,
            "layers": layers,
            "hidden_size": hidden,
            "vocab_size": number("vocab_size"),
            "max_positions": number("max_position_embeddings"),
            "rope_positions": _rope_positions(text.get("rope_scaling") or text.get("rope_parameters")),
            "heads": heads,
            "kv_heads": number("num_key_value_heads") or heads,
            "head_dim": number("head_dim") or (hidden // heads if hidden and heads else None),
            "v_head_dim": number("v_head_dim"),
            "q_lora_rank": number("q_lora_rank"),
            "kv_lora_rank": number("kv_lora_rank"),
            "o_lora_rank": number("o_lora_rank"),
            "o_groups": number("o_groups"),
            "nope_dim": number("qk_nope_head_dim"),
            "rope_dim": number("qk_rope_head_dim"),
            "index_heads": number("index_n_heads"),
            "index_head_dim": number("index_head_dim"),
            "compress_ratios": _numbers(ratios),
            "kv_sources": _numbers(text.get("kv_source_layer_ids")),
            "hyper_connections": number("hc_mult"),
            "window": window,
            "window_layers": kinds.count("sliding_attention") if window else None,
            "linear_layers": kinds.count("linear_attention") or None,
            "linear_key_heads": number("linear_num_key_heads"),
            "linear_value_heads": number("linear_num_value_heads"),
            "linear_key_dim": number("linear_key_head_dim"),
            "linear_value_dim": number("linear_value_head_dim"),
            "linear_conv": number("linear_conv_kernel_dim"),
            "intermediate": number("intermediate_size"),
            "moe_intermediate": number("moe_intermediate_size", "intermediate_size"),
            "experts": number(*EXPERTS),
            "experts_per_token": number("num_experts_per_tok", "num_experts_per_token", "moe_topk"),
            "shared_experts": number("n_shared_experts", "num_shared_experts"),
            "dense_layers": number("first_k_dense_replace"),
            "draft_layers": number("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers"),
            "tied_embeddings": text.get("tie_word_embeddings") is True,
        }
    )


def _layer_kinds(config: Config, layers: int | None) -> list[str]:
    kinds = config.text.get("layer_types")
    if isinstance(kinds, list):
        return [str(kind) for kind in kinds][:layers]
    every = config.number("full_attention_interval")
    if every and layers and config.number("linear_num_value_heads"):
        return ["full_attention" if (layer + 1) % every == 0 else "linear_attention" for layer in range(layers)]
    pattern = config.text.get("hybrid_layer_pattern")
    if isinstance(pattern, list):
        return ["sliding_attention" if kind else "full_attention" for kind in pattern][:layers]
    return []


def _rope_positions(scaling: object) -> int | None:
    if not isinstance(scaling, Mapping):
        return None
    factor, original = scaling.get("factor"), _whole(scaling.get("original_max_position_embeddings"))
    if (
        original is None
        or isinstance(factor, bool)
        or not isinstance(factor, int | float)
        or not 0 < factor < MOST_FACTOR
    ):
        return None
    return int(factor * original)


def _is_whole(value: object) -> bool:
    return type(value) is int and value >= 0


def _numbers(value: object) -> tuple[int, ...] | None:
    return tuple(value) if isinstance(value, list) and all(map(_is_whole, value)) else None


def _whole(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _words(value: object) -> tuple[str, ...] | None:
    return tuple(map(str, value)) if isinstance(value, list) else None
