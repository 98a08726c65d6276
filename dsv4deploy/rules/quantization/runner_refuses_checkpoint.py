"""What each FlashInfer runner takes of the names under which checkpoints say how they are quantized."""

from typing import Final

from dsv4deploy.model.rule import Ask

# Names of ModelOpt's kinds are left out: the engine tells them apart by what else the checkpoint says.
JUDGED: Final = {"fp8", "compressed-tensors", "awq", "gptq", "w4afp8", "mxfp4"}
TAKEN: Final[dict[str, set[str]]] = {
    "flashinfer_cutlass": set(),
    "flashinfer_trtllm": {"fp8", "compressed-tensors"},
    "flashinfer_trtllm_routed": {"fp8"},
}


def verdict(ask: Ask) -> str | None:
    """Found if the checkpoint's name is known and not taken."""
    runner, method = ask("written:moe_runner_backend"), ask("fact:model.quant_method")
    refused = method in JUDGED and method not in TAKEN.get(runner, JUDGED)
    return f"{runner} and {method}" if refused else None
