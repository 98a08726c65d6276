"""Judges what probes answered: what is news beside the recorded stacks, and whether peer access can be relied on."""

from collections.abc import Sequence

from dsv4deploy.model.probe import Deviation, Peer, PeerVerdict, ProbeDocument, ProbeResult, Recorded, Stack

# The cases that ask two cards or more, through peer access and without it.
_THROUGH = ("all-reduce", "all-reduce-over-all", "peer-write")
_WITHOUT = ("all-reduce-without-p2p", "all-reduce-over-all-without-p2p")
COLLECTIVES = (*_THROUGH, *_WITHOUT)
_KEYS = ("torch", "triton", "cuda", "sm")
# What an outcome of a case says about the way that it went.
_SAYS = {"wrong": Peer.WRONG, "hangs": Peer.HANGS, "failed": Peer.FAILS, "died": Peer.FAILS}
_WITHOUT_PEERS = "set nccl.p2p_disable: true and kernels.custom_all_reduce: false together; one alone only moves it"
# GB/s one way that the makers state: of one NVLink by compute capability, and of 16 lanes of PCIe by generation.
_NVLINK = {"8.0": 25.0, "9.0": 25.0, "10.0": 50.0, "10.3": 50.0}
_PCIE_X16 = {"3": 15.8, "4": 31.5, "5": 63.0, "6": 121.0}


def deviations(document: ProbeDocument, recorded: Sequence[Recorded]) -> tuple[Deviation, ...]:
    """Every probe that answered otherwise than on the recorded stack that is nearest to this one."""
    if not recorded:
        return ()
    nearest = max(recorded, key=lambda one: _likeness(document.stack, one))
    same = _likeness(document.stack, nearest) == len(_KEYS)
    return tuple(
        Deviation(one.name, nearest.outcomes[one.name], short(one), same, f"{nearest.hardware}, torch {nearest.torch}")
        for one in document.results
        if one.name in nearest.outcomes and one.outcome != "unknown" and short(one) != nearest.outcomes[one.name]
    )


def faults(document: ProbeDocument) -> tuple[ProbeResult, ...]:
    """Every probe whose answer is a fault of this machine or of a patch, and not a known hazard."""
    return tuple(one for one in document.results if one.remedy and one.outcome not in {"ok", "unknown"})


def short(result: ProbeResult) -> str:
    """The answer in one word: `ok`, the name of the root error, or what else it came to."""
    return result.root.name if result.outcome == "failed" and result.root else result.outcome


def peer_verdict(document: ProbeDocument) -> PeerVerdict:
    """What the collective cases together say about peer access.

    NCCL and custom all-reduce use it each in its own way, so it is right only where both came to the right answer.
    An all-reduce that goes wrong without peer access too says nothing about it.
    """
    if document.device != "cuda":
        return PeerVerdict(Peer.UNKNOWN, "needs two GPUs: this was a try of the probes without any")
    by_name = {one.name: one for one in document.results}
    through = [by_name[name] for name in _THROUGH if name in by_name]
    asked = [one for one in through if one.outcome != "unknown"]
    without = [by_name[name] for name in _WITHOUT if name in by_name]
    if not asked:
        reason = next((one.because for one in through if one.because), "needs the probes all-reduce and peer-write")
        return PeerVerdict(Peer.UNKNOWN, reason)
    bad = next((one for one in asked if one.outcome in _SAYS), None)
    if bad:
        return _blamed(bad, next((one for one in without if one.outcome in _SAYS), None))
    missing = {"all-reduce", "peer-write"} - {one.name for one in asked}
    if missing:
        name = min(missing)
        reason = by_name[name].because if name in by_name else f"needs the probe {name}"
        return PeerVerdict(Peer.UNKNOWN, f"{name}: {reason}")
    return PeerVerdict(Peer.RIGHT, "NCCL and direct writes both came to the known answer")


def _blamed(bad: ProbeResult, elsewhere: ProbeResult | None) -> PeerVerdict:
    """What a case that went wrong says, beside one that went wrong without peer access."""
    if bad.outcome == "failed" and not _of_the_card(bad):
        return PeerVerdict(Peer.UNKNOWN, f"{bad.name} could not be carried out: {why(bad)}")
    if elsewhere and bad.name != "peer-write":
        return PeerVerdict(
            Peer.UNKNOWN,
            f"{elsewhere.name} {elsewhere.outcome} without peer access too: {why(elsewhere)}",
            "look at the network interface and at shared memory before you blame peer access",
        )
    return PeerVerdict(_SAYS[bad.outcome], f"{bad.name}: {why(bad)}", _WITHOUT_PEERS)


def _of_the_card(result: ProbeResult) -> bool:
    """Whether a failure came from the runtime or from NCCL, and not from the probe's own code."""
    cause = result.root
    return cause is not None and (bool(cause.cuda) or cause.number is not None or "DistBackend" in cause.type)


def link_limit(stack: Stack) -> str:
    """What the link between the first two cards can carry one way at most, as its maker states it; empty if unknown."""
    kind, card = stack.links.get("GPU0-GPU1", ""), stack.gpus[0] if stack.gpus else None
    if card is None or not kind:
        return ""
    if kind.startswith("NV") and card.sm in _NVLINK:
        return f"{kind}: {int(kind[2:]) * _NVLINK[card.sm]:g} GB/s one way by its maker"
    generation, _, width = card.pcie.partition("x")
    if generation in _PCIE_X16 and width.isdigit():
        return f"{kind}: {_PCIE_X16[generation] * int(width) / 16:g} GB/s one way by PCIe {card.pcie}, before overhead"
    return ""


def why(result: ProbeResult) -> str:
    """What the probe says of its answer, else the first line of the root error, else the answer."""
    return result.because or (f"{result.root.name}: {result.root.message}" if result.root else result.outcome)


def _likeness(stack: Stack, recorded: Recorded) -> int:
    return sum(getattr(stack, key) == getattr(recorded, key) for key in _KEYS)
