"""What probes answered, as a person reads it."""

from collections.abc import Iterator, Sequence

from dsv4deploy.model.probe import Deviation, PeerVerdict, ProbeDocument, ProbeResult, Stack
from dsv4deploy.stages.probes import COLLECTIVES, faults, link_limit, short, why

_MIB = 1 << 20
_KIB = 1 << 10
_RATES = {"bus_gb_s": "bus", "one_way_gb_s": "one way"}


def screen(document: ProbeDocument, news: Sequence[Deviation], verdict: PeerVerdict) -> str:
    """Stack, one line for each probe, figures of the collectives, news, and the verdict about peer access."""
    cards = list(_cards(document.stack))
    lines = [_stack(document.stack), *cards]
    if document.fault:
        lines.append(f"injected fault: {document.fault}")
    if no_card := _without_card(document):
        return "\n".join([*lines, no_card]) + "\n"
    lines += [_line(one) for one in document.results]
    figures = [line for one in document.results for line in _figures(one)]
    if figures:
        lines += [f"figures on {cards[0] if cards else 'a CPU'}", *figures]
        lines += [f"  the link {limit}"] if (limit := link_limit(document.stack)) else []
    lines += [line for one in document.results for line in _left(one)]
    lines += [_news(one) for one in news]
    lines += [line for one in faults(document) for line in _fault(one)]
    if any(one.name in COLLECTIVES for one in document.results):
        lines.append(f"peer access: {verdict.peer}: {verdict.because}")
        lines += [f"  = remedy: {verdict.remedy}"] if verdict.remedy else []
    return "\n".join(lines) + "\n"


def _without_card(document: ProbeDocument) -> str:
    """Why none of the probes could ask its question, where that is for want of a card."""
    if document.device != "cuda" or document.stack.gpus or any(one.outcome != "unknown" for one in document.results):
        return ""
    count = f"none of {len(document.results)} probes could ask its question"
    if document.stack.cuda is None:
        return f"no GPU: this torch is built without CUDA, so {count}\n  = remedy: name the engine's own Python"
    return (
        f"no GPU: torch has CUDA {document.stack.cuda} and sees no card, so {count}\n"
        "  = remedy: see what nvidia-smi says there, and whether CUDA_VISIBLE_DEVICES hides the cards"
    )


def _stack(stack: Stack) -> str:
    parts = [f"torch {stack.torch}", f"triton {stack.triton or 'none'}", f"CUDA {stack.cuda or 'none'}"]
    parts += [f"NCCL {stack.nccl}"] if stack.nccl else []
    parts += [f"driver {stack.driver}"] if stack.driver else []
    return ", ".join(parts)


def _cards(stack: Stack) -> Iterator[str]:
    if stack.gpus:
        card = stack.gpus[0]
        link = ", ".join(f"{pair} {kind}" for pair, kind in stack.links.items())
        yield f"{len(stack.gpus)} x {card.name} (sm {card.sm}, PCIe {card.pcie}{f'; {link}' if link else ''})"


def _line(one: ProbeResult) -> str:
    said = short(one) if one.outcome == "failed" else one.because
    speaks = f"  speaks for {', '.join(one.rules)}" if one.rules and one.outcome not in {"ok", "unknown"} else ""
    return f"{one.outcome:8} {one.seconds:7.2f} s  {one.name:36} {said}{speaks}".rstrip()


def _figures(one: ProbeResult) -> Iterator[str]:
    """A line for each payload, by the way that it went and by size."""
    measured = [(n.rpartition("_")[0], f) for n, f in one.figures.items() if isinstance(f, dict) and "us" in f]
    for way, figure in sorted(measured, key=lambda pair: (pair[0], pair[1]["bytes"])):
        name = f"{one.name} {way.removeprefix('payload')}"
        kind, rate = next((words, figure[key]) for key, words in _RATES.items() if key in figure)
        yield f"  {name:24} {size(figure['bytes']):>8}  {figure['us']:>10} us  {rate:>8} GB/s {kind}"
    if one.transport:
        yield f"  {one.name} went via {', '.join(one.transport)}"


def _left(one: ProbeResult) -> Iterator[str]:
    if one.left.processes or any(one.left.cards_mib):
        yield f"  {one.name} left behind: processes {list(one.left.processes)}, MiB on cards {list(one.left.cards_mib)}"


def _fault(one: ProbeResult) -> Iterator[str]:
    yield f"error: {one.name}: {why(one)}"
    yield f"  = remedy: {one.remedy}"


def _news(one: Deviation) -> str:
    where = "on the same stack" if one.same_stack else "on another stack"
    return f"news: {one.name} is {one.found}; {where} ({one.recorded_on}) it was {one.expected}"


def size(count: int) -> str:
    """Bytes in the largest unit that fits."""
    if count >= _MIB:
        return f"{count / _MIB:g} MiB"
    return f"{count / _KIB:g} KiB" if count >= _KIB else f"{count} B"
