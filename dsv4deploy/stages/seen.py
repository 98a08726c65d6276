"""One start of the engine, looked at from all sides: what every view, check and question about it reads."""

from dataclasses import dataclass

from dsv4deploy.model.diagnostic import Report
from dsv4deploy.model.document import Sources
from dsv4deploy.model.effective import Effective
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.launch import Launch
from dsv4deploy.model.memory import Account


@dataclass(frozen=True, slots=True)
class Seen:
    """One start of the engine, looked at from all sides.

    Attributes:
        words: its argument words as they were written; None if some of them are not known.
    """

    launch: Launch
    words: tuple[str, ...] | None
    catalogue: Catalogue
    sources: Sources
    facts: Facts
    effective: Effective
    report: Report
    memory: Account
