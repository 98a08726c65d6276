"""Does what a card writes into another card's memory arrive? Custom all-reduce lives on it, without NCCL.

Two ranks share a buffer over CUDA IPC, as custom all-reduce does. Each writes its pattern into the other's, first by
the copy engine and then by the stores of a kernel, and each reads what has arrived in its own.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsv4deploy.probes.case import Case, Here, UnknownError, WrongError
from dsv4deploy.probes.collective import (
    ENVIRONMENT,
    meeting,
    misbehave,
    pattern,
    seconds_each,
    synchronized,
    wrong_at,
)

_FLOAT = 4
_BLOCK = 1024
# Where torch's words for opening a shared tensor have the device in whose context it is opened.
_DEVICE = 6


def _peer_write(here: Here) -> None:
    other = 1 - here.rank
    reached = here.ask.device != "cuda" or _reaches(here, other)
    with meeting(here, "gloo") as dist:
        if not reached:
            raise UnknownError(f"needs peer access, and the driver offers none between cards {here.rank} and {other}")
        count = max(here.ask.payloads) // _FLOAT
        mine = _buffer(here, count, here.rank)
        theirs = _shared(here, dist, mine, other, count)
        writers: dict[str, Callable[[Any, Any], Any]] = {"copy": lambda to, source: to.copy_(source)}
        if here.ask.device == "cuda":
            writers["kernel"] = _store
        for payload in here.ask.payloads:
            for name, write in writers.items():
                part = slice(payload // _FLOAT)
                wrote = _Way(name, write, mine[part], theirs[part])
                _tried(here, dist, wrote)
        here.enter("release")
        dist.barrier()


@dataclass(frozen=True)
class _Way:
    """One way of writing from rank to rank, and as much of both buffers as is written."""

    name: str
    write: Callable[[Any, Any], Any]
    mine: Any
    theirs: Any


def _tried(here: Here, dist: Any, way: _Way) -> None:
    """Write, wait, verify, and then time this way of writing."""
    name, mine, theirs = way.name, way.mine, way.theirs
    count = len(mine)
    payload = count * _FLOAT
    here.enter(f"{name} of {payload} bytes")
    mine.zero_()
    synchronized(here)
    dist.barrier()
    source = pattern(here, count, here.rank)
    misbehave(here)
    if here.faulty:
        source[-1] += 1
    way.write(theirs, source)
    synchronized(here)
    dist.barrier()
    if wrong := wrong_at(mine, pattern(here, count, 1 - here.rank)):
        raise WrongError(f"{payload} bytes written by {name} from rank {1 - here.rank}: {wrong}")
    here.enter(f"timing of {name}, {payload} bytes")
    dist.barrier()
    seconds = seconds_each(here, payload, lambda: way.write(theirs, source))
    here.note(
        **{
            f"{name}_{payload}": {
                "bytes": payload,
                "us": round(seconds * 1e6, 1),
                "one_way_gb_s": round(payload / seconds / 1e9, 3),
            }
        }
    )
    dist.barrier()


def _reaches(here: Here, other: int) -> bool:
    import torch

    access = bool(torch.cuda.can_device_access_peer(here.rank, other))
    here.note(peer_access=access)
    return access


def _store(to: Any, source: Any) -> None:
    from dsv4deploy.probes.kernels import copy

    count = len(source)
    copy[(-(-count // _BLOCK),)](source, to, count, BLOCK=_BLOCK)


def _buffer(here: Here, count: int, rank: int) -> Any:
    """A buffer that another process can open; on a CPU, a mapped file stands in for it."""
    import torch

    if here.ask.device == "cuda":
        return torch.zeros(count, device=here.device)
    return torch.from_file(f"{here.meeting}-{rank}", shared=True, size=count)


def _shared(here: Here, dist: Any, mine: Any, other: int, count: int) -> Any:
    """The other rank's buffer, opened in this rank's own context: only so may its kernels store there."""
    here.enter("share")
    if here.ask.device != "cuda":
        return _buffer(here, count, other)
    from torch.multiprocessing.reductions import reduce_tensor

    handles: list[Any] = [None, None]
    dist.all_gather_object(handles, pickle.dumps(reduce_tensor(mine)))
    open_it, words = pickle.loads(handles[other])  # noqa: S301 (written by the other rank of this very probe)
    return open_it(*words[:_DEVICE], here.rank, *words[_DEVICE + 1 :])


CASES = (
    Case(
        name="peer-write",
        sentence="one card writes into another's memory, and what arrives is read there",
        run=_peer_write,
        world=lambda _: 2,
        least=2,
        limit_s=120,
        environment=ENVIRONMENT,
        rules=("no-p2p-with-custom-all-reduce",),
        only_cuda=False,
    ),
)
