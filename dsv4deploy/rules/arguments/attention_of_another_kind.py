"""The backends that are made for one kind of attention."""

from typing import Final

from dsv4deploy.model.rule import Ask

PHASES: Final = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
LATENT: Final = {"trtllm_mla", "cutlass_mla", "flashmla", "tokenspeed_mla", "cutedsl_mla"}
SPARSE: Final = {"dsa", "nsa"}
PLAIN: Final = {"trtllm_mha", "hpc_ops"}
BY_KIND: Final = {"mha": LATENT | SPARSE, "mla": PLAIN | SPARSE, "dsa": PLAIN}
# A family that is not named here may attend in any way.
MULTI_HEAD: Final = {
    "exaone4",
    "falcon_h1",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "gemma4",
    "glm-4",
    "glm4",
    "gpt-oss",
    "granite",
    "lfm2",
    "llama",
    "llama4",
    "minimax-m2",
    "mistral",
    "mixtral",
    "mllama",
    "nemotron_h",
    "olmo2",
    "phi3",
    "qwen2",
    "qwen2_5_vl",
    "qwen2_moe",
    "qwen2_vl",
    "qwen3",
    "qwen3.5",
    "qwen3_5",
    "qwen3_moe",
    "qwen3_next",
    "qwen3_vl",
    "qwen3_vl_moe",
    "step3p5",
}


def verdict(ask: Ask) -> str | None:
    """Found if a written backend is made for another kind than the model's."""
    written = [str(backend) for backend in (ask(f"written:{phase}") for phase in PHASES) if backend]
    if not any(backend in kinds for kinds in BY_KIND.values() for backend in written):
        return None
    kind, family = str(ask("trait:attention")), str(ask("trait:family"))
    if kind == "mha" and family not in MULTI_HEAD:
        return None
    return next((backend for backend in written if backend in BY_KIND.get(kind, ())), None)
