"""CUDA graphs and torch.compile: which graphs are captured, how large, and what is compiled inside them."""

from collections.abc import Mapping
from typing import Any, Final

from dsv4deploy.model.effective import Basis
from dsv4deploy.model.rule import Ask
from dsv4deploy.stages.effective.kernels import SM100
from dsv4deploy.stages.effective.memory import by_memory
from dsv4deploy.stages.releases import since, within
from dsv4deploy.stages.situation import Decided, Resolver

OFF: Final = "disabled"
TP_OF_LARGE_GRAPHS: Final = 4
# Kinds of attention whose prefill graph is switched off, and in which releases.
NO_PREFILL_GRAPH: Final = (
    ("dsv4", ">=0.5.12", "DeepSeek-V4"),
    ("mla", ">=0.5.15,<0.5.18", "MLA attention"),
    ("dsa", ">=0.5.15,<0.5.17", "MLA attention"),
    ("dsa", ">=0.5.10,<0.5.13", "this model"),
)
# What piecewise graphs give way to, in the releases where they are the default.
NO_PIECEWISE: Final = (
    "enable_torch_compile", "speculative_algorithm", "enable_dp_attention", "enable_lora", "enable_hierarchical_cache",
    "enable_deterministic_inference", "enable_symm_mem", "enable_eplb", "cpu_offload_gb",
)  # fmt: skip


def decode_backend(ask: Ask) -> Decided:
    """`full` or `disabled`; the JSON argument and a named backend win over every disable flag."""
    if (named := _named(ask, "decode")) is not None:
        return named
    if ask("written:disable_cuda_graph") or ask("written:disable_decode_cuda_graph"):
        return Decided(OFF, "a disable flag, and nothing that ranks higher", Basis.OBSERVED)
    if ask("written:disaggregation_mode") == "prefill":
        return Decided(OFF, "a prefill server of a disaggregated pair captures no decode graphs", Basis.OBSERVED)
    if ask("written:deepep_mode") == "normal":
        return Decided(OFF, "DeepEP in normal mode cannot be captured")
    if ask("written:attention_backend") == "torch_native":
        return Decided(OFF, "the torch_native attention backend cannot be captured")
    return Decided("full", "decode graphs are on by default", Basis.OBSERVED)


def prefill_backend(ask: Ask) -> Decided:
    """`disabled`, `tc_piecewise`, `breakable` or `full`; the default moved four times."""
    return _named(ask, "prefill") or _prefill_flags(ask) or _prefill_default(ask)


def _prefill_flags(ask: Ask) -> Decided | None:
    off = ("disable_prefill_cuda_graph", "disable_piecewise_cuda_graph", "disable_cuda_graph")
    if any(ask(f"written:{dest}") for dest in off):
        return Decided(OFF, "a disable flag, and nothing that ranks higher", Basis.OBSERVED)
    if ask("written:enforce_piecewise_cuda_graph"):
        return Decided("tc_piecewise", "enforced, past the list of models that cannot", Basis.READ)
    if ask("written:enable_breakable_cuda_graph"):
        return Decided("breakable", "asked for by its old name")
    if ask("written:disaggregation_mode") == "decode":
        return Decided(OFF, "a decode server of a disaggregated pair captures no prefill graphs", Basis.OBSERVED)
    return None


def _prefill_default(ask: Ask) -> Decided:
    if not since(ask, "0.5.10"):
        asked = bool(ask("written:enable_piecewise_cuda_graph"))
        return Decided("tc_piecewise" if asked else OFF, "opt-in before 0.5.10")
    kind = ask("trait:attention")
    for denied, releases, name in NO_PREFILL_GRAPH:
        if kind == denied and within(ask("fact:engine_version"), releases):
            return Decided(OFF, f"SGLang turns it off for {name}, with a warning", Basis.OBSERVED)
    if ask("trait:family") == "deepseek-v3" and since(ask, "0.5.18") and ask("fact:arch") in SM100:
        return Decided(OFF, "off for DeepSeek-V3 on sm_100", Basis.OBSERVED)
    if since(ask, "0.5.19") and ask("setting:pp_size") > 1:
        return Decided(OFF, "not by default under pipeline parallelism, since 0.5.19", Basis.READ)
    return Decided("breakable", "the default since 0.5.15", Basis.OBSERVED) if since(ask, "0.5.15") else _piecewise(ask)


def _piecewise(ask: Ask) -> Decided:
    for dest in NO_PIECEWISE:
        if ask(f"written:{dest}"):
            return Decided(OFF, f"piecewise graphs give way to --{dest.replace('_', '-')}")
    if ask("setting:pp_size") > 1 or ask("setting:attn_cp_size") > 1 or ask("setting:moe_a2a_backend") != "none":
        return Decided(OFF, "piecewise graphs give way to pipeline or context parallelism and all-to-all backends")
    if ask("setting:disaggregation_mode") != "null":
        return Decided(OFF, "piecewise graphs give way to disaggregation")
    return Decided("tc_piecewise", "the default of 0.5.10 to 0.5.14")


def decode_max_bs(ask: Ask) -> Decided | None:
    """The largest captured decode batch; a list of sizes wins over a maximum."""
    json = _json(ask, "decode")
    if sizes := json.get("bs") or ask("written:cuda_graph_bs_decode"):
        return Decided(max(sizes), "the largest of the given batch sizes", Basis.OBSERVED)
    if json.get("max_bs") is not None:
        return Decided(json["max_bs"], "given in --cuda-graph-config", Basis.OBSERVED)
    if ask("written:cuda_graph_max_bs_decode") is not None:
        return None
    _, below, above = by_memory(ask)
    chosen = above if int(ask("setting:tp_size")) >= TP_OF_LARGE_GRAPHS else below
    limit = ask("written:max_running_requests")
    if limit is not None and int(limit) < chosen and since(ask, "0.5.22"):
        return Decided(limit, "no larger than --max-running-requests", Basis.OBSERVED)
    return Decided(chosen, "chosen by memory and tensor parallel size", Basis.OBSERVED)


def torch_compile(ask: Ask) -> Decided | None:
    """Whether the model is compiled: on CUDA that happens only inside the capture of decode graphs."""
    if not ask("written:enable_torch_compile"):
        return None
    if ask("setting:cuda_graph_backend_decode") == OFF:
        return Decided(False, "decode graphs are off, and the model is compiled nowhere else")
    return Decided(True, "compiled while decode graphs are captured")


def torch_compile_mode(ask: Ask) -> Decided | None:
    """The mode torch.compile gets; SGLang has its own default."""
    if ask("written:env:SGLANG_TORCH_COMPILE_MODE") is not None:
        return None
    return Decided("max-autotune-no-cudagraphs", "SGLang's own default")


def _named(ask: Ask, phase: str) -> Decided | None:
    if (backend := _json(ask, phase).get("backend")) is not None:
        return Decided(backend, "given in --cuda-graph-config, which ranks highest", Basis.OBSERVED)
    if (backend := ask(f"written:cuda_graph_backend_{phase}")) is not None:
        return Decided(backend, "a named backend ranks above every disable flag", Basis.OBSERVED)
    return None


def _json(ask: Ask, phase: str) -> Mapping[str, Any]:
    config = ask("written:cuda_graph_config")
    part = config.get(phase) if isinstance(config, Mapping) else None
    return part if isinstance(part, Mapping) else {}


RESOLVERS: Mapping[str, Resolver] = {
    "cuda_graph_backend_decode": decode_backend,
    "cuda_graph_backend_prefill": prefill_backend,
    "cuda_graph_max_bs_decode": decode_max_bs,
    "enable_torch_compile": torch_compile,
    "env:SGLANG_TORCH_COMPILE_MODE": torch_compile_mode,
}
