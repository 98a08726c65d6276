"""What probes answered on a machine, and what they are expected to answer on which stack."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Outcome = Literal["ok", "failed", "wrong", "hangs", "died", "unknown"]


class Part(BaseModel):
    """Base of the parts of a probe document; further keys are let be."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


class Link(Part):
    """One exception of a chain: its type, first lines, CUDA names and number."""

    type: str
    message: str = ""
    cuda: tuple[str, ...] = ()
    number: int | None = None

    @property
    def name(self) -> str:
        """The CUDA name where there is one, else the type without its module."""
        return self.cuda[0] if self.cuda else self.type.rpartition(".")[2]


class Card(Part):
    """One GPU, in the words of `nvidia-smi`."""

    name: str
    sm: str
    driver: str = ""
    pcie: str = ""


class Stack(Part):
    """Versions and cards under which the probes ran; `links` goes from `GPU0-GPU1` to `NV18`, `PIX` and the like."""

    torch: str
    triton: str | None = None
    cuda: str | None = None
    nccl: str | None = None
    driver: str | None = None
    sm: str | None = None
    gpus: tuple[Card, ...] = ()
    links: Mapping[str, str] = {}


class Left(Part):
    """What a case left behind: processes, and MiB on each card; nothing, if all is well."""

    processes: tuple[int, ...] = ()
    cards_mib: tuple[int, ...] = ()


class ProbeResult(Part):
    """What one probe answered; `figures` are its own, `remedy` is there if any answer but ok is a fault."""

    name: str
    sentence: str = ""
    rules: tuple[str, ...] = ()
    remedy: str = ""
    outcome: Outcome
    because: str = ""
    phase: str = ""
    seconds: float
    ranks: int = 1
    figures: Mapping[str, Any] = {}
    root: Link | None = None
    left: Left = Left()
    transport: tuple[str, ...] = ()


class ProbeDocument(Part):
    """All answers of one run, `probe/1`."""

    schema_: Annotated[Literal["probe/1"], Field(alias="schema")]
    at: str
    device: str
    fault: str = ""
    stack: Stack
    seconds: float
    results: tuple[ProbeResult, ...]


class Recorded(Part):
    """One stack on which the probes were run, and what they answered: `ok`, or the name of the root error."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    torch: str
    triton: str
    cuda: str
    sm: str
    hardware: str
    date: str
    outcomes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Deviation:
    """A probe that answered otherwise than recorded: news, not an error; `same_stack` says how much to make of it."""

    name: str
    expected: str
    found: str
    same_stack: bool
    recorded_on: str


class Peer(StrEnum):
    """Whether what a card sends to another one arrives."""

    RIGHT = "right"
    WRONG = "wrong"
    HANGS = "hangs"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PeerVerdict:
    """The verdict about peer access, why, and what to do."""

    peer: Peer
    because: str
    remedy: str = ""
