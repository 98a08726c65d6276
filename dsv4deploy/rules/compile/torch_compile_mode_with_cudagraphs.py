"""Only torch 2.11 was tried; for any other the capture probe knows."""

from dsv4deploy.model.rule import Ask, Missing


def verdict(ask: Ask) -> str:
    """Found on torch 2.11; elsewhere unknown until a probe has run."""
    release = str(ask("trait:torch"))
    if not release.startswith("2.11"):
        raise Missing("probe:capture")
    return f"{ask('env:SGLANG_TORCH_COMPILE_MODE')} on torch {release}"
