"""One node of an inventory, asked through Ansible; a node that is lost for a moment is asked again."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dsv4deploy.cli import fleet
from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.observed import Observation
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible, bundles, scratch

_PATIENCE_S = 120.0
_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class RemoteNode:
    """The node on which starts are made; `holder` says who makes them, so that nobody else does meanwhile."""

    options: ansible.Options
    name: str
    address: str
    holder: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def all_of(cls, options: ansible.Options) -> "tuple[RemoteNode, ...]":
        """Every node that inventory and limit leave."""
        hosts = ansible.hosts(options)
        return tuple(cls(options, host.name, str(host.variables.get("ansible_host") or host.name)) for host in hosts)

    def ask(self, verb: str, deployment: str, **more: Any) -> Mapping[str, Any]:  # noqa: ANN401 (any JSON)
        """What the tool on the node answers.

        Raises:
            Trouble: it could not do what was asked, or stays out of reach.
        """
        end = time.monotonic() + _PATIENCE_S
        while True:
            event = self._asked(verb, deployment, more)
            if event is not None and event.kind in {Kind.OK, Kind.RETRY}:  # a start that still goes on is an answer
                return event.answer
            lost = event is None or event.kind is Kind.UNREACHABLE
            if not lost or time.monotonic() > end:
                why = fleet.reason(event) if event else "no answer"
                raise Trouble(f"{self.name}: {verb} of {deployment}: {why}", code=Exit.APPLY_FAILED)
            time.sleep(_PAUSE_S)

    def put(self, bundle: Bundle) -> None:
        """Check the node and install the release; nothing is started."""
        with scratch.folder("arm") as folder:
            path = folder / bundle.name
            bundles.write(bundle, path)
            self.ask("stage", bundle.name, bundle=str(path))

    def _asked(self, verb: str, deployment: str, more: Mapping[str, Any]) -> Event | None:
        heard: list[Event] = []
        variables = {
            "dsv4_verb": verb,
            "dsv4_name": deployment,
            "dsv4_holder": dict(self.holder),
            **{f"dsv4_{key}": value for key, value in more.items()},
        }
        played = ansible.play(
            "arm", self.options, nodes=[self.name], variables=variables, by_node={}, tell=heard.append
        )
        fleet.begun(played)
        return heard[-1] if heard else None


def surveyed(options: ansible.Options, nodes: Sequence[RemoteNode], bundle: Bundle) -> dict[str, Observation | str]:
    """What each node says to the release, or why it does not answer; one trip for all."""
    with scratch.folder("arm") as folder:
        path = folder / bundle.name
        bundles.write(bundle, path)
        return fleet.observe(options, {node.name: [str(path)] for node in nodes})
