"""Which flags go with which checkpoints beside those of the same name."""

from typing import Final

from dsv4deploy.model.rule import Ask

ALSO: Final = {
    "modelopt": {"modelopt_fp4", "modelopt_fp8", "modelopt_mixed", "petit_nvfp4"},
    "modelopt_fp4": {"modelopt_fp4", "modelopt", "petit_nvfp4", "modelopt_mixed"},
    "fp8": {"fp8", "nvfp4_online", "mxfp8", "w8a8_fp8", "modelopt_fp4", "modelopt_fp8"},
    "compressed-tensors": {"compressed-tensors", "w8a8_int8", "w8a8_fp8"},
}


def verdict(ask: Ask) -> str | None:
    """Found unless the flag is the checkpoint's own method or one that reads it."""
    flag, method = ask("written:quantization"), ask("fact:model.quant_method")
    if flag in ALSO.get(method, {method}):
        return None
    return f"{flag} for a {method} checkpoint"
