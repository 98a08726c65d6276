"""Tokens that fit a pool, by the kind of attention and the release of the engine.

Formulas as read in SGLang 0.5.12 to 0.5.23; every constant that a public log shows is reproduced exactly.
"""

from collections.abc import Callable
from typing import NamedTuple

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.memory import Interval, Part, Sure, Term, between, exactly
from dsv4deploy.stages.memory.launched import Launched, Release
from dsv4deploy.stages.memory.shape import MissingError, numbers

ELEMENT = {
    "auto": 2.0,
    "bf16": 2.0,
    "bfloat16": 2.0,
    "float16": 2.0,
    "fp8_e4m3": 1.0,
    "fp8_e5m2": 1.0,
    "mxfp8": 1 + 1 / 32,
}
FP4 = 0.5 + 1 / 16
# Cache layouts of DeepSeek-V4 differ between these; a version that nobody knows may be any of them.
V4_LAYOUTS: tuple[Release, ...] = ((0, 5, 12), (0, 5, 13), (0, 5, 15), (0, 5, 21))
V4_RATIO, OTHER_RATIO = 0.1, 0.8
STATE_RATIO = 0.9
# Only these keep windowed layers in a pool of their own; every other model pays full length in each layer. Read in
# 0.5.23, and run there: a Gemma 3 with five windowed layers of six paid for all six.
WINDOWED = frozenset(
    [
        "BeamForCausalLM",
        "DiffusionGemmaForBlockDiffusion",
        "EmbeddingGemma2Model",
        "Gemma4ForCausalLM",
        "Gemma4ForConditionalGeneration",
        "Gemma4UnifiedForConditionalGeneration",
        "GptOssForCausalLM",
        "GraniteMoeSWAForCausalLM",
        "GraniteSWAForCausalLM",
        "IQuestQ1ForCausalLM",
        "InklingForConditionalGeneration",
        "LagunaForCausalLM",
        "Llama4ForConditionalGeneration",
        "MellumForCausalLM",
        "MiMoV2FlashForCausalLM",
        "MiMoV2ForCausalLM",
        "MuseGlimmerForCausalLM",
        "MuseGlimmerForConditionalGeneration",
        "Step3p5ForCausalLM",
        "Step3p7ForConditionalGeneration",
        "UnlimitedOCRForCausalLM",
    ]
)
INDEX_KEY = 132
# SGLANG_SWA_EVICTION_INTERVAL
EVICTION = 128


class Pool(NamedTuple):
    """How one rank's pool is spent: bytes before the first token, then bytes a token.

    Attributes:
        fixed: states of requests and the like.
        per_token: every layer's share of one token.
        share: part of the pool that is the cache's at all; the rest is recurrent state.
        source: the formula with its numbers.
        sure: how sure the bytes a token are.
    """

    fixed: Interval
    per_token: Interval
    source: str
    sure: Sure
    share: float = 1.0

    def tokens(self, pool: Interval, page: int, most: int | None) -> Interval:
        """Tokens in a pool of these bytes, rounded down to the page and lowered to `--max-total-tokens`."""
        left = pool.scaled(self.share) - self.fixed
        counts = left.low / self.per_token.high, left.likely / self.per_token.likely, left.high / self.per_token.low
        return Interval(*(_whole_pages(count, page, most) for count in counts))


def pool_of(shape: Geometry, launch: Launched, architectures: tuple[str, ...] | None = None) -> Pool:
    """How the pool of a model of this shape is spent.

    Raises:
        MissingError: the shape does not say enough.
    """
    if shape.attention == "compressed":
        return _compressed(shape, launch)
    if shape.attention == "mla":
        return _mla(shape, launch)
    if shape.attention == "gqa":
        return _gqa(shape, launch, _windowed(shape, launch, architectures))
    raise MissingError("attention")


def element(dtype: str) -> float:
    """Bytes of one cached number."""
    return ELEMENT.get(dtype, FP4)


def _whole_pages(count: float, page: int, most: int | None) -> int:
    whole = max(0, int(count)) // page * page
    return whole if most is None else min(whole, most)


def _compressed(shape: Geometry, launch: Launched) -> Pool:
    """DeepSeek-V4: every layer owns a window pool; layers of ratio 4 and 128 add their share of each token."""
    if shape.kv_sources:
        return _shared(shape, launch)
    if launch.release is None:
        layouts = V4_LAYOUTS
    else:
        layouts = (max(layout for layout in V4_LAYOUTS if layout <= max(launch.release, V4_LAYOUTS[0])),)
    found = [_layout(shape, launch, layout) for layout in layouts]
    spread = [between(min(column), max(column)) for column in zip(*found, strict=True)]
    names = " or ".join(".".join(map(str, layout)) for layout in layouts)
    source = f"DeepSeek-V4 cache as laid out since {names}, window ratio {launch.window_ratio or V4_RATIO:g}"
    return Pool(spread[0], spread[1], source, Sure.EXACT if len(layouts) == 1 else Sure.ASSUMED)


def _layout(shape: Geometry, launch: Launched, release: Release) -> tuple[float, float]:
    """Fixed bytes and bytes a token of DeepSeek-V4 in the layout of one release."""
    layers, width, rope, window = numbers(shape, "layers", "head_dim", "rope_dim", "window")
    (index,) = numbers(shape, "index_head_dim")
    ratios = shape.compress_ratios or ()
    fours, many = ratios[:layers].count(4), ratios[:layers].count(128)
    late, fixed_state = release >= V4_LAYOUTS[3], release >= V4_LAYOUTS[2]
    # 0.5.12 counts the entry of the MTP layer too.
    held = len(ratios) if release <= V4_LAYOUTS[0] else layers
    latent = _latent(width, rope, launch, padded=late)
    ring, ring_many = (16, 256) if launch.speculative else (8, 128)
    state = 2 * width * 4 * many
    slot = latent(256) * held + ring / (256 if late else window) * 4 * (width + index) * 4 * fours
    slot += 0 if fixed_state else ring_many / window * state
    token = fours * (latent(64) / 4 + (index + index // 128 * 4) / 4) + many * latent(2) / 128
    rows = (launch.requests or 0) * ring_many + 2 * ring_many + 1
    inflated = (held + 1) / held if launch.speculative else 1
    return (
        -(-rows // 128) * 128 * state if fixed_state else 0,
        (token + (launch.window_ratio or V4_RATIO) * slot) * inflated,
    )


def _shared(shape: Geometry, launch: Launched) -> Pool:
    """DeepSeek-V4.1: a few layers own a long cache; windows are sized for the requests that may run at once."""
    layers, width, rope, index = numbers(shape, "layers", "head_dim", "rope_dim", "index_head_dim")
    ratios = shape.compress_ratios or ()
    owned = [ratios[layer] for layer in shape.kv_sources or () if layer < layers and ratios[layer] in (1, 2)]
    latent = _latent(width, rope, launch, padded=launch.since(0, 5, 21) is not False)
    inflated = (layers + 1) / layers if launch.speculative else 1
    # The indexer of these layers is FP4 whatever the others have: half a byte a number and a scale for 32.
    token = sum((latent(launch.page // ratio) + index // 2 + index // 32) / ratio for ratio in owned)
    slot, ratio = latent(launch.page) * layers * inflated, launch.window_ratio or 0
    ring = 1 << (launch.draft_tokens + 1).bit_length() if launch.speculative else 2
    rows = ((launch.requests or 0) + 1) * ring + ring + 1
    pairs = -(-rows // 2) * 2 * 2 * width * 4 * owned.count(2)
    fixed = pairs + (0 if ratio else _window_slots(shape, launch) * slot)
    source = f"DeepSeek-V4.1: {len(owned)} layers own the cache, windows for {launch.requests} requests"
    return Pool(exactly(fixed), exactly(token * inflated + ratio * slot), source, Sure.EXACT)


def _window_slots(shape: Geometry, launch: Launched) -> int:
    """Window slots that the scheduler may hold at once, and those that keep prefixes for reuse."""
    (window,) = numbers(shape, "window")
    page, requests = launch.page, launch.requests or 0
    ahead = 2 * launch.draft_tokens if launch.speculative else page
    slots = requests * (window + EVICTION * launch.draft_tokens + page + ahead) + 2 * launch.chunk + page
    slots += 4 * requests * (window + page) if launch.radix else 0
    return -(-slots // page) * page


def _latent(width: int, rope: int, launch: Launched, *, padded: bool) -> Callable[[int], float]:
    """Bytes of one latent slot in a page of so many slots; pages are charged in 576 B steps from 0.5.21 on."""
    if launch.word("dsv4_attn_backend") == "trtllm":
        return lambda _: width
    # The nope part in fp8, the rope part in bf16, and eight scales.
    plain = width - rope + 2 * rope + 8
    return lambda slots: -(-slots * plain // 576) * 576 / slots if padded else plain


def _mla(shape: Geometry, launch: Launched) -> Pool:
    """One latent head, held by every rank; an indexer (DSA) adds its key to each layer."""
    layers, rank, rope = numbers(shape, "layers", "kv_lora_rank", "rope_dim")
    indexed = shape.index_head_dim is not None
    raw = (rank + rope) * element(launch.kv_dtype)
    cell = exactly(raw)
    if indexed and launch.kv_dtype.startswith("fp8"):
        cell = _dsa_cell(raw, rank + rank // 128 * 4 + 2 * rope, launch)
    held = _pipeline(layers, launch) + _draft_layers(shape, launch)
    per_layer = cell + exactly(INDEX_KEY if indexed else 0)
    kind = "DSA" if indexed else "MLA"
    source = f"{kind}: {held} layers * ({rank} + {rope}) numbers in {launch.kv_dtype}, not divided by tp"
    return Pool(exactly(0), per_layer.scaled(held), source, Sure.EXACT)


def _dsa_cell(raw: float, scaled: int, launch: Launched) -> Interval:
    """FP8 without scales where TRT-LLM or TileLang kernels read it, with scales for the FlashMLA kind."""
    backends = launch.word("dsa_prefill_backend"), launch.word("dsa_decode_backend")
    if "trtllm" in backends or backends == ("tilelang", "tilelang"):
        return exactly(raw)
    return exactly(scaled) if all(backends) else between(raw, scaled)


def _windowed(shape: Geometry, launch: Launched, architectures: tuple[str, ...] | None) -> int:
    """Layers that have a pool of their own for a window; a model of unknown class is taken to have one."""
    if launch.flag("disable_hybrid_swa_memory") or (architectures and not WINDOWED.intersection(architectures)):
        return 0
    return shape.window_layers or 0


def _gqa(shape: Geometry, launch: Launched, windowed: int) -> Pool:
    """Heads divided by attention tp down to one; windowed layers keep a share of the tokens, linear ones a state."""
    layers, kv_heads, width = numbers(shape, "layers", "kv_heads", "head_dim")
    heads = max(1, kv_heads // launch.attention_tp)
    cell = heads * (width + (shape.v_head_dim or width)) * element(launch.kv_dtype)
    linear = shape.linear_layers or 0
    full = _pipeline(layers - linear - windowed, launch) + _draft_layers(shape, launch)
    ratio = OTHER_RATIO if launch.window_ratio is None else launch.window_ratio
    counted = full + ratio * _pipeline(windowed, launch)
    source = f"{heads} heads * {width} * 2 in {launch.kv_dtype}, {full} full layers"
    source += f" and {windowed} windowed at {ratio:g}" if windowed else ""
    fixed, share = _recurrent(shape, launch) if linear else (exactly(0), 1.0)
    source += f"; {linear} linear layers take {1 - share:.0%} for states" if share < 1 else ""
    return Pool(fixed, exactly(cell * counted), source, Sure.EXACT if not linear else Sure.LOGGED, share)


def _recurrent(shape: Geometry, launch: Launched) -> tuple[Interval, float]:
    """Bytes of recurrent states if their number is given, else the share of the pool that is left to the cache."""
    slots = launch.settings.get("max_mamba_cache_size")
    if not isinstance(slots, int) and not launch.radix:
        slots = launch.requests
    if isinstance(slots, int):
        return exactly((slots + 1) * state_bytes(shape, launch)), 1.0
    ratio = launch.settings.get("mamba_full_memory_ratio")
    return exactly(0), 1 / (1 + (float(ratio) if isinstance(ratio, int | float) else STATE_RATIO))


def state_bytes(shape: Geometry, launch: Launched) -> float:
    """Bytes of one recurrent state on one rank: fp32 state and bf16 convolution of every linear layer.

    Raises:
        MissingError: the shape does not say enough.
    """
    layers, key_heads, value_heads = numbers(shape, "linear_layers", "linear_key_heads", "linear_value_heads")
    key, value, conv = numbers(shape, "linear_key_dim", "linear_value_dim", "linear_conv")
    wide = 2 if launch.word("mamba_ssm_dtype") in {"bfloat16", "float16"} else 4
    states = value_heads * key * value * wide
    convolution = (2 * key_heads * key + value_heads * value) * (conv - 1) * 2
    return layers * (states + convolution) / launch.attention_tp


def _pipeline(layers: int, launch: Launched) -> int:
    return -(-layers // launch.pp)


def _draft_layers(shape: Geometry, launch: Launched) -> int:
    if not launch.speculative or launch.word("speculative_algorithm").upper() == "NGRAM":
        return 0
    return shape.draft_layers or 1


def pool_terms(pool: Pool) -> tuple[Term, ...]:
    """The account's lines of a pool."""
    fixed = Term(Part.POOL, "states of requests", pool.fixed, "B", "a fixed number of states", pool.sure)
    token = Term(Part.POOL, "cache per token", pool.per_token, "B/token", pool.source, pool.sure)
    return (fixed, token) if pool.fixed.high else (token,)
