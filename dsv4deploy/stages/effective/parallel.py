"""How the work is cut over GPUs and nodes, and which ports it takes."""

from collections.abc import Mapping
from typing import Final

from dsv4deploy.model.effective import Basis
from dsv4deploy.model.rule import Ask, known
from dsv4deploy.stages.effective.kernels import TRTLLM_MLA
from dsv4deploy.stages.releases import since
from dsv4deploy.stages.situation import Decided, Resolver

# All-to-all backends that spread the experts over the whole tensor-parallel group.
SPANNING: Final = {
    "deepep", "deepep_v2", "megamoe", "mooncake", "nixl", "flashinfer", "flashinfer_megamoe", "mori", "pplx",
}  # fmt: skip
PREFILL_CP: Final = ("enable_prefill_cp", "enable_prefill_context_parallel")
DIST_PORT: Final = 233


def moe_a2a_backend(ask: Ask) -> Decided | None:
    """How tokens reach their experts: prefill context parallelism of an MLA model overrides it."""
    if not any(ask(f"written:{name}") for name in PREFILL_CP) or known(ask, "trait:attention") != "mla":
        return None
    if ask("trait:family") not in TRTLLM_MLA or not since(ask, "0.5.13"):
        return None
    return Decided("deepep", "prefill context parallelism of an MLA model forces it, whatever is written")


def ep_size(ask: Ask) -> Decided | None:
    """Expert parallelism: some all-to-all backends set it."""
    backend = ask("setting:moe_a2a_backend")
    if backend not in SPANNING:
        return None
    return Decided(ask("setting:tp_size"), f"{backend} spreads the experts over the whole group", Basis.OBSERVED)


def dp_size(ask: Ask) -> Decided | None:
    """Replicas of the model in one launch; with DP attention the number moves to `attn_dp_size`."""
    written = ask("written:dp_size")
    if ask("written:enable_dp_attention") and int(written or 1) > 1 and since(ask, "0.5.22"):
        return Decided(1, "with DP attention the number counts as --attn-dp-size", Basis.OBSERVED)
    return None


def attn_dp_size(ask: Ask) -> Decided:
    """Groups of DP attention."""
    named = ask("written:attn_dp_size")
    if named is not None and int(named) > 1:
        return Decided(named, "as written")
    folded = ask("written:enable_dp_attention") and int(ask("written:dp_size") or 1) > 1
    return Decided(int(ask("written:dp_size")) if folded else 1, "--dp-size together with --enable-dp-attention")


def enable_dp_attention(ask: Ask) -> Decided | None:
    """Whether attention is data parallel; with a single group it is not."""
    if ask("written:enable_dp_attention") and ask("trait:attention_groups") == 1:
        return Decided(False, "there is a single group", Basis.OBSERVED)
    return Decided(True, "more than one group", Basis.OBSERVED) if ask("trait:attention_groups") > 1 else None


def enable_dp_lm_head(ask: Ask) -> Decided | None:
    """Whether the output head is cut over the vocabulary within a group."""
    if ask("written:enable_dp_lm_head") and ask("trait:attention_groups") == 1:
        return Decided(False, "without DP attention it is quietly off", Basis.OBSERVED)
    return None


def disable_overlap_schedule(ask: Ask) -> Decided | None:
    """Whether the scheduler waits for the GPU."""
    return Decided(True, "off under pipeline parallelism", Basis.OBSERVED) if ask("setting:pp_size") > 1 else None


def dist_port(ask: Ask) -> Decided:
    """The first of the ports that ranks meet on: of --dist-init-addr, else derived from --port."""
    port = str(ask("written:dist_init_addr")).rpartition(":")[2]
    if port.isdecimal():
        return Decided(int(port), "of --dist-init-addr")
    return Decided(int(ask("setting:port")) + DIST_PORT, "derived from --port", Basis.READ)


RESOLVERS: Mapping[str, Resolver] = {
    "moe_a2a_backend": moe_a2a_backend,
    "ep_size": ep_size,
    "dp_size": dp_size,
    "attn_dp_size": attn_dp_size,
    "enable_dp_attention": enable_dp_attention,
    "enable_dp_lm_head": enable_dp_lm_head,
    "disable_overlap_schedule": disable_overlap_schedule,
    "dist_port": dist_port,
}
