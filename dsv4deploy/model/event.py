"""What happens while nodes are worked on: one step on one node, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """How one step ended on one node; `retry` has not ended yet."""

    OK = "ok"
    RETRY = "retry"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Event:
    """One step on one node.

    Attributes:
        node: as the inventory names it.
        step: the verb of the node tool, or Ansible's action where it is none of ours.
        kind: how it ended.
        answer: what the node tool answered, or what Ansible says of a failure.
        task: the task's name in the playbook.
    """

    node: str
    step: str
    kind: Kind
    answer: Mapping[str, Any]
    task: str = ""

    @property
    def name(self) -> str:
        """The deployment that it is about; empty if it is about the node."""
        return str(self.answer.get("name") or "")
