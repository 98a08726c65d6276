"""What the cases about several ranks share: their meeting, known patterns, and figures for each payload."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from dsv4deploy.probes.case import Here

# Multicast over NVLink can take the cards of a host out of service when it goes wrong; a probe never switches it on.
ENVIRONMENT = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "NVSHMEM_DISABLE_NVLS": "1",
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,P2P,SHM,NET",
}
_INSIDE = {"NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo"}
_PERIOD = 251
_SMALL = 1 << 20
_ROUNDS_SMALL, _ROUNDS_LARGE = 50, 10


@contextmanager
def meeting(here: Here, backend: str) -> Iterator[Any]:
    """All ranks of the case as a process group; yields `torch.distributed`."""
    import torch
    import torch.distributed as dist

    for name, value in _INSIDE.items():
        os.environ.setdefault(name, value)
    if here.ask.device == "cuda":
        torch.cuda.set_device(here.rank)
    here.enter("meet")
    dist.init_process_group(
        backend,
        init_method=f"file://{here.meeting}",
        rank=here.rank,
        world_size=here.world,
        timeout=timedelta(hours=1),  # the runner has the limit
    )
    yield dist
    here.enter("part")
    dist.destroy_process_group()


def pattern(here: Here, count: int, rank: int) -> Any:
    """`count` float32 values that only this rank has; sums over up to 8 ranks are exact."""
    import torch

    return torch.arange(count, device=here.device).remainder(_PERIOD).float() + rank


def wrong_at(found: Any, expected: Any) -> str:
    """Where and how `found` differs from `expected`; empty where it does not."""
    differs = (found != expected).nonzero().flatten()
    if not len(differs):
        return ""
    first = int(differs[0])
    return f"{len(differs)} of {len(found)} values; at {first}: {float(found[first])}, not {float(expected[first])}"


def synchronized(here: Here) -> None:
    """Wait for what the device still does."""
    import torch

    if here.ask.device == "cuda":
        torch.cuda.synchronize()


def seconds_each(here: Here, payload: int, function: Callable[[], Any]) -> float:
    """Mean seconds of one call, of many put on the device one after another, as nccl-tests counts."""
    rounds = _ROUNDS_SMALL if payload <= _SMALL else _ROUNDS_LARGE
    for _ in range(rounds // 2):
        function()
    synchronized(here)
    began = time.perf_counter()
    for _ in range(rounds):
        function()
    synchronized(here)
    return (time.perf_counter() - began) / rounds


def misbehave(here: Here) -> None:
    """Hang or die where this rank is told to."""
    if here.faulty and here.ask.fault == "hang":
        here.enter("wedged on purpose")
        while True:
            time.sleep(1)
    if here.faulty and here.ask.fault == "die":
        os.kill(os.getpid(), 9)
