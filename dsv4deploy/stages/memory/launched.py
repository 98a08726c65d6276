"""The settings of a launch that memory depends on, typed and with the engine's own defaults."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.facts import Facts

Release = tuple[int, int, int]
MIB_PER_GIB = 1024
# Card classes by total memory (GiB): chunked prefill size, decode graph batch below and from tp 4. SGLang 0.5.23.
CLASSES = ((20, 2048, 8, 8), (35, 4096, 48, 160), (60, 4096, 32, 160), (160, 8192, 256, 512))
LARGEST = (16384, 512, 512)
V4_REQUESTS = 256
MANY_RANKS = 4
# Of EAGLE and DSPARK when neither steps nor draft tokens are given; between 2 and 8 in the models seen.
DRAFT_TOKENS = 4

Number = Callable[[str, int], int]


class Launched(NamedTuple):
    """One launch; sizes of parallelism as the engine resolves them, token counts as given or defaulted.

    Attributes:
        release: numbers of the version without `.post`; None if unknown.
        attention_dp: size of attention data parallelism (1: none).
        chunk: tokens of one prefill chunk on one rank.
        requests: `--max-running-requests` of one rank; None if the engine works it out.
        draft_tokens: tokens verified a step; 1 without speculation.
    """

    release: Release | None
    tp: int
    pp: int
    ep: int
    attention_dp: int
    fraction: float | None
    chunk: int
    context: int | None
    requests: int | None
    max_total_tokens: int | None
    kv_dtype: str
    page: int
    window_ratio: float | None
    speculative: bool
    draft_tokens: int
    decode_batch: int
    radix: bool
    settings: Mapping[str, object]

    @property
    def attention_tp(self) -> int:
        """How many ranks share one copy of the attention heads."""
        return max(1, self.tp // self.attention_dp)

    def since(self, *release: int) -> bool | None:
        """Whether the engine is this release or later; None if its version is not known."""
        return None if self.release is None else self.release >= release

    def flag(self, *dests: str) -> bool:
        """Whether one of these is switched on or given."""
        return any(self.settings.get(dest) not in (None, False, 0, "", "none") for dest in dests)

    def word(self, dest: str) -> str:
        """The value of a setting as text, empty if it is not given."""
        value = self.settings.get(dest)
        return "" if value is None else str(value)


def read_launch(version: str | None, settings: Mapping[str, object], facts: Facts, shape: Geometry) -> Launched:
    """The launch described by effective settings (dest -> value); what they leave out gets the engine's default."""
    number = _numbers(settings)
    tp, pp = number("tp_size", 1), number("pp_size", 1)
    attention_dp = number("attn_dp_size", 0) or (number("dp_size", 1) if settings.get("enable_dp_attention") else 1)
    chunk, decode_batch = _by_card(facts.gpu_memory_mib, tp)
    # What takes effect is already one rank's part.
    chunk = number("chunked_prefill_size", chunk // attention_dp)
    if chunk <= 0:
        # Chunking is off: one prefill takes what --max-prefill-tokens lets in.
        chunk = number("max_prefill_tokens", 16384)
    requests = number("max_running_requests", 0) or (V4_REQUESTS if shape.attention == "compressed" else 0)
    speculative = settings.get("speculative_algorithm") not in (None, "")
    given = number("cuda_graph_max_bs_decode", 0) or number("cuda_graph_max_bs", 0)
    cap = number("max_running_requests", decode_batch)
    return Launched(
        release=release_of(version),
        tp=tp,
        pp=pp,
        ep=number("ep_size", 1),
        attention_dp=attention_dp,
        fraction=_fraction(settings.get("mem_fraction_static")),
        chunk=chunk,
        context=number("context_length", 0) or shape.max_positions or facts.model.max_position_embeddings,
        requests=max(1, requests // attention_dp) if requests else None,
        max_total_tokens=number("max_total_tokens", 0) or None,
        kv_dtype=str(settings.get("kv_cache_dtype") or "auto"),
        page=256 if shape.attention == "compressed" else number("page_size", 1),
        window_ratio=_fraction(settings.get("swa_full_tokens_ratio")),
        speculative=speculative,
        draft_tokens=_draft_tokens(number) if speculative else 1,
        decode_batch=0 if _graphs_off(settings) else given or min(decode_batch, cap),
        radix=not settings.get("disable_radix_cache"),
        settings=settings,
    )


def release_of(version: str | None) -> Release | None:
    """The first three numbers of `0.5.13.post1`; None for anything that is no release."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _numbers(settings: Mapping[str, object]) -> Number:
    def number(dest: str, default: int) -> int:
        value = settings.get(dest)
        return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else default

    return number


def _fraction(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _by_card(card_mib: int | None, tp: int) -> tuple[int, int]:
    """Chunked prefill size and largest decode graph that the engine chooses for this card."""
    gib = (card_mib or 0) / MIB_PER_GIB
    chunk, few, many = next((row[1:] for row in CLASSES if gib < row[0]), LARGEST) if card_mib else CLASSES[-1][1:]
    return chunk, few if tp < MANY_RANKS else many


def _draft_tokens(number: Number) -> int:
    steps = number("speculative_num_steps", 0) or number("speculative_dspark_block_size", 0)
    return number("speculative_num_draft_tokens", 0) or (steps + 1 if steps else DRAFT_TOKENS)


def _graphs_off(settings: Mapping[str, object]) -> bool:
    backend = settings.get("cuda_graph_backend_decode")
    if backend is not None:
        return backend == "disabled"
    return bool(settings.get("disable_cuda_graph") or settings.get("disable_decode_cuda_graph"))
