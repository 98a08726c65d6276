"""What an installed SGLang is asked about one launch, and what it answers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dsv4deploy.model.launch import Json


@dataclass(frozen=True, slots=True)
class Gpu:
    """The cards before which the engine is to imagine itself: compute capability, MiB of each, how many."""

    name: str
    major: int
    minor: int
    memory_mib: int
    count: int


@dataclass(frozen=True, slots=True)
class EngineQuestion:
    """Argument words without the program, the engine's own variables, and the cards; None: only parse."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    gpu: Gpu | None = None

    def as_object(self) -> Mapping[str, Any]:
        """What the engine's interpreter reads."""
        return {"words": self.words, "gpu": asdict(self.gpu) if self.gpu else None}


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """What it made of the words.

    Attributes:
        version: of the installed engine; None if it could not be asked.
        parsed: values by SGLang's own dest names; None if its parser refused.
        resolved: the settings it ends up with; None if it did not get that far.
        refused: its complaint, if it refuses this launch.
        unresolved: what kept it from resolving, beside the launch itself.
        unable: what kept it from answering at all.
    """

    version: str | None = None
    parsed: Mapping[str, Json] | None = None
    resolved: Mapping[str, Json] | None = None
    refused: str = ""
    unresolved: str = ""
    unable: str = ""
