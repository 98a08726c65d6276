"""The backends that the resolver lets read an FP4 cache, by the kind of attention."""

from typing import Final

from dsv4deploy.model.rule import Ask

READ: Final = {
    "mla": {"cutlass_mla", "flashinfer", "trtllm_mla", "flashmla"},
    "mha": {"triton", "torch_native", "flex_attention", "trtllm_mha"},
}
# With fa4 for the prefill, the decode backend is asked instead.
READ_AFTER_FA4: Final = {
    "mla": {"cutlass_mla", "flashinfer", "trtllm_mla"},
    "mha": {"triton", "torch_native", "flex_attention"},
}


def verdict(ask: Ask) -> str | None:
    """Found if one backend serves both phases and is not among them; two different ones only earn a warning."""
    kind = ask("trait:attention")
    prefill, decode = (
        ask(f"written:{phase}") or ask("setting:attention_backend")
        for phase in ("prefill_attention_backend", "decode_attention_backend")
    )
    if kind not in READ or prefill not in {decode, "fa4"}:
        return None
    taken = (READ_AFTER_FA4 if prefill == "fa4" else READ)[kind]
    return None if decode in taken else f"{decode}, one of {', '.join(sorted(taken))}"
