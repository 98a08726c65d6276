"""Speculative decoding: what is filled in by itself."""

from collections.abc import Mapping
from typing import Final

from dsv4deploy.model.effective import Basis
from dsv4deploy.model.rule import Ask, known
from dsv4deploy.stages.situation import Decided, Resolver

DSPARK_BLOCK: Final = 5
DFLASH_TYPES: Final = {"DFLASH", "DSPARK"}
DELAY_FROM: Final = 8
DEFAULT_LIMIT: Final = 48  # running requests, with a draft and nothing written


def algorithm(ask: Ask) -> Decided | None:
    """The drafting algorithm; NEXTN is another name of EAGLE."""
    written = ask("written:speculative_algorithm")
    if written is None or known(ask, "trait:attention") == "dsv4":
        return None
    upper = "EAGLE" if str(written).upper() == "NEXTN" else str(written).upper()
    return None if upper == written else Decided(upper, f"what {written} stands for", Basis.OBSERVED)


def draft_tokens(ask: Ask) -> Decided | None:
    """Tokens verified at once: without branches one more than the steps."""
    steps, topk = ask("written:speculative_num_steps"), ask("written:speculative_eagle_topk")
    if steps is None or topk != 1:
        return None
    return Decided(int(steps) + 1, "steps + 1, as nothing branches", Basis.OBSERVED)


def draft_quantization(ask: Ask) -> Decided | None:
    """How the draft's weights are read: as the target's, unless said otherwise."""
    if ask("written:speculative_algorithm") is None or ask("written:speculative_draft_model_quantization") is not None:
        return None
    quantization = ask("written:quantization")
    return Decided(quantization, "inherited from --quantization", Basis.OBSERVED) if quantization else None


def block_size(ask: Ask) -> Decided | None:
    """Tokens a DSPARK draft proposes; the released drafts say 5."""
    if ask("written:speculative_algorithm") != "DSPARK" or ask("written:speculative_dspark_block_size") is not None:
        return None
    return Decided(DSPARK_BLOCK, "what the bundled draft says", Basis.INFERRED)


def min_free_slots(ask: Ask) -> Decided | None:
    """How many slots must be free before new requests are admitted: DFLASH types set it by themselves."""
    if ask("written:min_free_slots_delay") is not None or ask("written:speculative_algorithm") not in DFLASH_TYPES:
        return None
    limit = ask("setting:max_running_requests") or DEFAULT_LIMIT
    if int(limit) < DELAY_FROM:
        return None
    slots = min(4, max(2, (int(limit) + 5) // 6))
    return Decided(slots, f"DFLASH types delay admission from {DELAY_FROM} running requests on")


RESOLVERS: Mapping[str, Resolver] = {
    "speculative_algorithm": algorithm,
    "speculative_num_draft_tokens": draft_tokens,
    "speculative_draft_model_quantization": draft_quantization,
    "speculative_dspark_block_size": block_size,
    "min_free_slots_delay": min_free_slots,
}
