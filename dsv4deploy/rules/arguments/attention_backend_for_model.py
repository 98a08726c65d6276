"""The backends that the resolver lets pass for a model, in every release that has it."""

from typing import Final

from dsv4deploy.model.rule import Ask

OFF_CUDA: Final = {"ascend", "intel_amx", "intel_xpu", "aiter"}
TAKEN: Final = {
    "gpt-oss": {"triton", "trtllm_mha", "fa3", "fa4"} | OFF_CUDA,
    "llama4": {"triton", "trtllm_mha", "fa3"} | OFF_CUDA,
}
PHASES: Final = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")


def verdict(ask: Ask) -> str | None:
    """Found if a written backend is not among them."""
    taken = TAKEN.get(str(ask("trait:family")))
    written = [ask(f"written:{phase}") for phase in PHASES]
    if ask("trait:family") == "gpt-oss" and not written[0] and any(written) and not all(written[1:]):
        # The assertion comes before the backend that is not written is chosen.
        return "one phase names a backend, and the other none"
    wrong = [str(backend) for backend in written if backend is not None and taken and backend not in taken]
    return f"{wrong[0]}, one of {', '.join(sorted(taken - OFF_CUDA))}" if wrong and taken else None
