"""What must fit beside the pool: request table, graphs, activations and the indexer's scores; and the load's peak.

`slack = free_before * (1 - fraction)`. A server that boots and dies at its first long prompt has run out of it.
"""

from dsv4deploy.model.checkpoint import TensorClass
from dsv4deploy.model.memory import GIB, MIB, NOTHING, Interval, Part, Sure, Term, between, exactly
from dsv4deploy.stages.memory.inputs import Inputs
from dsv4deploy.stages.memory.launched import Launched

# Logged: 0.42 to 1.9 GiB of graphs for 24 to 320 captured tokens.
GRAPHS_FIXED, GRAPHS_PER_TOKEN = 0.3 * GIB, 5 * MIB
# `0.2 * live free`, and the live free memory is at most the slack.
SCORES_SHARE = 0.2
# Logged where a prefill graph is on: 1.5 to 3 GiB.
MAY_PREFILL = between(0, 3 * GIB)
PREFILL_OFF = ("disable_cuda_graph", "disable_prefill_cuda_graph", "disable_piecewise_cuda_graph")
MOST_REQUESTS, LEAST_REQUESTS = 4096, 2048


def outside(inputs: Inputs, room: Interval) -> tuple[Term, ...]:
    """The takers of this room while the longest prompt is prefilled, as negative terms."""
    return (_table(inputs.launch), _graphs(inputs), *_activations(inputs), *_scores(inputs, room))


def _taken(name: str, amount: Interval, source: str, sure: Sure) -> Term:
    return Term(Part.SLACK, name, NOTHING - amount, "B", source, sure)


def _table(launch: Launched) -> Term:
    context = launch.context or 0
    if launch.requests is not None:
        amount, source, sure = (
            exactly(4 * (launch.requests + 1) * context),
            f"4 B * ({launch.requests} + 1) * {context}",
            Sure.EXACT,
        )
    else:
        amount = between(LEAST_REQUESTS, MOST_REQUESTS).scaled(4 * context)
        source, sure = f"4 B * {LEAST_REQUESTS} to {MOST_REQUESTS} requests * {context}", Sure.EXACT
    return _taken("request table", amount, source, sure)


def _graphs(inputs: Inputs) -> Term:
    launch, measured = inputs.launch, inputs.measured
    if measured.graphs is not None:
        return _taken(
            "graphs", exactly(measured.graphs), "`Capture … graph end … mem usage=` of a first start", Sure.MEASURED
        )
    captured = launch.decode_batch * launch.draft_tokens
    amount = exactly(GRAPHS_FIXED + GRAPHS_PER_TOKEN * captured).widened(0.5, 1.5) if captured else NOTHING
    source = f"0.3 GiB + 5 MiB for each of {captured} captured tokens"
    return _taken("graphs", amount + (MAY_PREFILL if _may_capture_prefill(inputs) else NOTHING), source, Sure.INFERRED)


def _may_capture_prefill(inputs: Inputs) -> bool:
    """DeepSeek models switch their prefill graphs off by themselves; others capture them since 0.5.10."""
    launch = inputs.launch
    off = launch.word("cuda_graph_backend_prefill") == "disabled" or launch.flag(*PREFILL_OFF)
    return inputs.shape.attention == "gqa" and launch.since(0, 5, 10) is not False and not off


def _activations(inputs: Inputs) -> list[Term]:
    """Activations of one prefill chunk; the largest alone at best, all together at worst."""
    shape, launch = inputs.shape, inputs.launch
    hidden = shape.hidden_size or 0
    inner = (shape.moe_intermediate if shape.experts else shape.intermediate) or 0
    routed = launch.chunk * (shape.experts_per_token or 1) * (2 * inner // launch.tp + hidden) * 2
    items = [routed]
    if shape.attention == "compressed":
        items.append(launch.chunk * (shape.hyper_connections or 1) * hidden * 2)
        items.append(launch.chunk * max(64, (shape.heads or 0) // launch.attention_tp) * (shape.head_dim or 0) * 2)
    if not any(items):
        return []
    amount = between(max(items), sum(items))
    return [
        _taken(
            "activations", amount, f"routed experts, streams and padded queries of {launch.chunk} tokens", Sure.INFERRED
        )
    ]


def _scores(inputs: Inputs, room: Interval) -> list[Term]:
    """The fp32 score matrix of the indexer, one layer at a time."""
    shape, launch, prompt = inputs.shape, inputs.launch, inputs.prompt
    if shape.index_head_dim is None or not prompt:
        return []
    compressed = shape.attention == "compressed"
    size = launch.chunk * -(-prompt // 4 // 256) * 256 * 4 if compressed else launch.chunk * prompt * 4
    bound = _scores_bounded(inputs)
    most = SCORES_SHARE * max(room.high, 0)
    amount = between(min(size, most) if bound is not False else size, min(size, most) if bound else size)
    source = f"{launch.chunk} rows * {prompt} tokens" + (" / 4" if compressed else "") + " * 4 B"
    return [_taken("indexer scores", amount, source + (", split to 20 % of free memory" if bound else ""), Sure.EXACT)]


def _scores_bounded(inputs: Inputs) -> bool | None:
    """Whether the engine splits the rows; None if that is not known (a patched build may)."""
    facts, launch = inputs.facts, inputs.launch
    if inputs.shape.attention != "compressed":
        return launch.since(0, 5, 13)
    if facts.engine_patched:
        return None
    if facts.arch is None:
        return None if launch.since(0, 5, 22) is not False else False
    return False if facts.arch.startswith("sm_12") else launch.since(0, 5, 22)


def load_peak(inputs: Inputs) -> Term | None:
    """What the load holds for a moment beside the weights; None if the experts' size is not known."""
    facts, launch, layers = inputs.facts, inputs.launch, inputs.shape.layers
    experts = inputs.checkpoint.bytes_of([TensorClass.EXPERTS])
    if not layers or not experts:
        return None
    one_layer = experts / layers / launch.tp
    amount, source = exactly(one_layer), "a second copy of one layer's experts while it is repacked"
    if facts.model.experts_dtype == "nvfp4":
        scales = experts / 9 / launch.tp / launch.pp
        amount, source = between(one_layer, one_layer + scales), source + ", and swizzled NVFP4 scales of all layers"
    return Term(Part.LOAD, "load peak", amount, "B", source, Sure.INFERRED)
