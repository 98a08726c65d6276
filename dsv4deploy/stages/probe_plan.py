"""What a profile says to the probes: its Python, the pool that it is predicted to have, and its patched kernels."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dsv4deploy.model.memory import Account, Part
from dsv4deploy.model.patch import Patch
from dsv4deploy.model.profile import Profile

_FOLDER = "trials"


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """What is run on a node for a profile.

    Attributes:
        python: the engine's own.
        words: for the runner of the probes.
        trials: which file of the project travels there, by its name there.
        told: what cannot be asked, and why.
    """

    python: str
    words: tuple[str, ...] = ()
    trials: Mapping[str, str] | None = None
    told: tuple[str, ...] = ()


def probe_plan(profile: Profile, memory: Account, patches: Sequence[Patch]) -> ProbePlan:
    """The plan for a profile with a venv."""
    pool = predicted_pool(memory)
    words = ["--pool-bytes", str(pool)] if pool else []
    trials = {}
    for patch in patches:
        if patch.about.trial is not None:
            name = f"{_FOLDER}/{patch.about.name}.py"
            trials[name] = posixpath.join(patch.folder, patch.about.trial.file)
            words += ["--kernel", f"{name}:{patch.about.trial.function}"]
    return ProbePlan(f"{profile.engine.venv}/bin/python", tuple(words), trials, tuple(_told(pool, memory, patches)))


def predicted_pool(memory: Account) -> int | None:
    """Bytes of the KV pool on one rank, as the account of memory has it; None where it has none."""
    found = (one for one in memory.terms if one.part is Part.POOL and one.name == "pool" and one.unit == "B")
    return next((int(one.amount.likely) for one in found if one.amount.likely > 0), None)


def _told(pool: int | None, memory: Account, patches: Sequence[Patch]) -> Iterator[str]:
    if not pool:
        needs = f": needs {', '.join(memory.needs)}" if memory.needs else ""
        yield f"the pool is not predicted{needs}; nine tenths of what is free are tried instead"
    for patch in patches:
        if patch.about.trial is None:
            yield f"patch {patch.about.name} has no `trial` in its patch.yaml: its kernel is not tried"
