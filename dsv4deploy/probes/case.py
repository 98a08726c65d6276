"""What a probe is: a name, a sentence, and what each of its processes does."""

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from dsv4deploy.probes import cases as folder


class WrongError(Exception):
    """It ran, and its answer is not the known one."""


class UnknownError(Exception):
    """The probe could not ask its question; the message says what it needs."""


@dataclass(frozen=True)
class Ask:
    """What is asked of all cases.

    Attributes:
        device: `cuda`, or `cpu` for a try of the harness without a card.
        ranks: processes of a collective; 0 for as many as there are cards.
        limit_s: seconds a case may take; 0 for its own limit.
        payloads: sizes of the messages of a collective in bytes.
        pool_bytes: the pool to allocate on each card; 0 for nine tenths of what is free.
        fault: `wrong`, `hang` or `die`: what the last rank does on purpose.
        kernels: `FILE:FUNCTION` of each patched kernel's trial.
    """

    device: str = "cuda"
    ranks: int = 0
    limit_s: float = 0
    payloads: tuple[int, ...] = tuple(1 << bits for bits in range(10, 29, 2))
    pool_bytes: int = 0
    fault: str = ""
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Here:
    """One process of a case: its rank, and how it tells the runner what it does and found."""

    ask: Ask
    rank: int
    world: int
    meeting: str
    tell: Callable[[dict[str, Any]], None] = print

    def enter(self, phase: str) -> None:
        """Say which part begins, so that a hang has a place."""
        self.tell({"phase": phase})

    def note(self, **figures: Any) -> None:
        """Keep figures, also when the case fails or hangs later."""
        self.tell({"figures": figures})

    @property
    def device(self) -> str:
        """This rank's device, as torch names it."""
        return f"cuda:{self.rank}" if self.ask.device == "cuda" else "cpu"

    @property
    def faulty(self) -> bool:
        """Whether this process is the one that misbehaves on purpose."""
        return bool(self.ask.fault) and self.rank == self.world - 1


@dataclass(frozen=True, eq=False)
class Case:
    """One question to a machine.

    Attributes:
        world: processes it takes, of the number of devices; 1 for most.
        least: cards below which it has no question of its own.
        limit_s: seconds after which it is said to hang.
        environment: variables that hold before the first call of torch in each process.
        rules: rules of the catalogue that its failure speaks for.
        remedy: what to do about another answer than ok; empty where that is a known hazard and nothing is amiss.
    """

    name: str
    sentence: str
    run: Callable[[Here], None]
    world: Callable[[int], int] = lambda _: 1
    least: int = 1
    limit_s: float = 90
    environment: dict[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    remedy: str = ""
    only_cuda: bool = True


def all_cases() -> tuple[Case, ...]:
    """Every case of every file, by file and then as the file has them."""
    found: list[Case] = []
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda one: one.name):
        found += import_module(f"{folder.__name__}.{module.name}").CASES
    return tuple(found)


def chosen(names: Sequence[str]) -> tuple[Case, ...]:
    """The cases whose name is, or begins with, one of `names`; all where none is given.

    Raises:
        KeyError: a name that fits none.
    """
    known = all_cases()
    picked = []
    for name in names:
        fitting = [case for case in known if case.name == name] or [c for c in known if c.name.startswith(name)]
        if not fitting:
            raise KeyError(name)
        picked += fitting
    return tuple(dict.fromkeys(picked)) if names else known
