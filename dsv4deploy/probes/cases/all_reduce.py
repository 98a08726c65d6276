"""Does an all-reduce come to its end and to the known answer, with and without peer access, over two cards and over all?"""

from collections.abc import Callable

from dsv4deploy.probes.case import Case, Here, WrongError
from dsv4deploy.probes.collective import ENVIRONMENT, meeting, misbehave, pattern, seconds_each, wrong_at

_FLOAT = 4
_WITHOUT = {**ENVIRONMENT, "NCCL_P2P_DISABLE": "1"}
_LIMIT_S = 120
_RULES = ("no-p2p-with-custom-all-reduce", "p2p-off-in-nccl-only")


def _all_reduce(here: Here) -> None:
    import torch

    with meeting(here, "nccl" if here.ask.device == "cuda" else "gloo") as dist:
        for payload in here.ask.payloads:
            here.enter(f"all-reduce of {payload} bytes")
            count = payload // _FLOAT
            mine = pattern(here, count, here.rank)
            misbehave(here)
            if here.faulty:
                mine[-1] += 1
            dist.all_reduce(mine)
            whole = here.world * pattern(here, count, 0) + here.world * (here.world - 1) / 2
            if wrong := wrong_at(mine, whole):
                raise WrongError(f"all-reduce of {payload} bytes over {here.world} ranks: {wrong}")
            again = torch.zeros(count, device=here.device)
            here.enter(f"timing of {payload} bytes")
            _note(here, payload, seconds_each(here, payload, lambda: dist.all_reduce(again)))  # noqa: B023 (called here)


def _note(here: Here, payload: int, seconds: float) -> None:
    """Latency, bytes a second of the algorithm, and of the bus: each rank sends 2 (n-1)/n of the payload."""
    gigabytes = payload / seconds / 1e9
    bus = gigabytes * 2 * (here.world - 1) / here.world
    here.note(
        **{
            f"payload_{payload}": {
                "bytes": payload,
                "us": round(seconds * 1e6, 1),
                "algorithm_gb_s": round(gigabytes, 3),
                "bus_gb_s": round(bus, 3),
            }
        }
    )


def _of(name: str, sentence: str, environment: dict[str, str], rules: tuple[str, ...] = ()) -> tuple[Case, Case]:
    """The case over two cards, and the one over all; with two cards there is only the first."""

    def case(suffix: str, world: Callable[[int], int], least: int) -> Case:
        return Case(
            name=f"all-reduce{suffix}{name}",
            sentence=f"an all-reduce over {'all' if suffix else 'two'} cards, NCCL {sentence} peer access",
            run=_all_reduce,
            world=world,
            least=least,
            limit_s=_LIMIT_S,
            environment=environment,
            rules=rules,
            only_cuda=False,
        )

    return case("", lambda _: 2, 2), case("-over-all", lambda devices: devices, 3)


CASES = (*_of("", "with", ENVIRONMENT, _RULES), *_of("-without-p2p", "without", _WITHOUT))
