"""The backends that the resolver lets pass for a model."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from dsv4deploy.model.rule import Ask, before

OFF_CUDA: Final = {"ascend", "intel_amx", "intel_xpu", "aiter"}
PHASES: Final = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")


class Taken(NamedTuple):
    """What is taken, or what is not; `phases` if the backends of both phases are looked at; since and until when."""

    backends: frozenset[str]
    refuses: bool = False
    phases: bool = False
    since: str | None = None
    until: str | None = None


TAKEN: Final = {
    "gpt-oss": Taken(frozenset({"triton", "trtllm_mha", "fa3", "fa4"}), phases=True),
    "llama4": Taken(frozenset({"triton", "trtllm_mha", "fa3"})),
    "gemma4": Taken(frozenset({"triton", "trtllm_mha", "fa4"}), phases=True, since="0.5.13"),
    "nemotron_h": Taken(frozenset({"triton"}), refuses=True, until="0.5.20"),
    "lfm2": Taken(frozenset({"triton"}), refuses=True, since="0.5.9"),
    "lfm2_moe": Taken(frozenset({"triton"}), refuses=True, since="0.5.9"),
    "olmo2": Taken(frozenset({"flashinfer"}), refuses=True),
}


def verdict(ask: Ask) -> str | None:
    """Found if a written backend is not among them."""
    written = [ask(f"written:{phase}") for phase in PHASES]
    if not any(written):
        return None
    family = str(ask("trait:family"))
    taken = TAKEN.get(family)
    if taken is None:
        return None
    if family == "gpt-oss" and not written[0] and any(written) and not all(written[1:]):
        # The assertion comes before the backend that is not written is chosen.
        return "one phase names a backend, and the other none"
    wrong = next(_wrong(taken, written), None)
    if wrong is None or (taken.since and before(ask, taken.since)) or (taken.until and not before(ask, taken.until)):
        return None
    return f"{wrong}, {'any but' if taken.refuses else 'one of'} {', '.join(sorted(taken.backends))}"


def _wrong(taken: Taken, written: list[object]) -> Iterator[str]:
    """What is written and not taken."""
    for backend in map(str, filter(None, written if taken.phases else written[:1])):
        if (backend in taken.backends) == taken.refuses and backend not in OFF_CUDA:
            yield backend
