"""What the nodes run to a plan of going back: to the release that was healthy before, or to the one named."""

from collections.abc import Mapping

from dsv4deploy.model.observed import Deployment, Observation
from dsv4deploy.model.plan import Action, Change, Plan, Step
from dsv4deploy.stages.plan import worked_on

_SHORT = 12


def rollback(
    name: str, seen: Mapping[str, Observation | str], to: str | None = None, *, gone: frozenset[str] = frozenset()
) -> Plan:
    """What has to happen so that every node that has the deployment runs an earlier release of it.

    Args:
        name: of the deployment.
        seen: what each node answered, or why it did not.
        to: the release, or the beginning of its digest; None for the one that was healthy before.
        gone: tokens of applies whose controller is known to be dead, so that their locks do not count.
    """
    steps = []
    for node, one in seen.items():
        if isinstance(one, str):
            steps.append(Step(node, name, Action.UNREACHABLE, (Change("node", one),)))
        elif name in one.deployments:
            steps.append(_step(node, name, one.deployments[name], to, gone))
    return Plan(tuple(steps))


def _step(node: str, name: str, has: Deployment, to: str | None, gone: frozenset[str]) -> Step:
    locked = worked_on(has, gone)
    target, against = _target(name, has, to)
    if locked or target is None:
        return Step(node, name, Action.REFUSE, (locked or against,), "", has.current)
    idle = target == has.current and has.running is not None and has.pending is None
    action = Action.NONE if idle else Action.RESTART if has.running else Action.START
    return Step(node, name, action, (), target, has.current, has.start_seconds[-1] if has.start_seconds else None)


def _target(name: str, has: Deployment, to: str | None) -> tuple[str | None, Change]:
    """The release to go back to; None if there is none, and then why."""
    here = ", ".join(digest[:_SHORT] for digest in has.releases) or "none"
    if to is not None:
        found = [digest for digest in has.releases if digest.startswith(to)]
        told = f"{len(found) or 'no'} releases of {name} here start with {to}: it has {here}"
        return found[0] if len(found) == 1 else None, Change("release", told)
    before = has.pending.before if has.pending else has.earlier
    return before, Change("release", f"{name} has no earlier release here that was ever healthy")
