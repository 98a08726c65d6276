"""Which profiles run on which nodes, by the inventory; and what must not meet on one node."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dsv4deploy.model.nearest import misspelt
from dsv4deploy.model.plan import Wanted
from dsv4deploy.model.trouble import Exit, Trouble

_GROUP = "gpu"
# What an inventory may say to us.
_OURS = ("dsv4_profile", "dsv4_variant", "dsv4_set", "dsv4_root")


@dataclass(frozen=True, slots=True)
class Host:
    """One node of the inventory, with the groups it is in and its variables, as Ansible resolved them."""

    name: str
    groups: frozenset[str]
    variables: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One profile for one node; `base` is the folder that its path is relative to."""

    node: str
    profile: str
    variants: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    from_inventory: bool = False


def assign(hosts: Sequence[Host], given: str | None, usual: str | None) -> tuple[Assignment, ...]:
    """Every profile that shall run, node by node.

    Args:
        hosts: the nodes, in the order of the inventory.
        given: the profile that the command line names.
        usual: the profile that is taken if nobody names one (`profile.yaml`), if it exists.

    Raises:
        Trouble: nothing is assigned, both the command line and the inventory name a profile for a node, or a variable
            of the inventory is one of ours but for a slip of the pen.
    """
    found: list[Assignment] = []
    grouped = any(_GROUP in host.groups for host in hosts)
    for host in hosts:
        _see_that_they_are_ours(host)
        named = _texts(host.variables.get("dsv4_profile"))
        variants, sets = _texts(host.variables.get("dsv4_variant")), _texts(host.variables.get("dsv4_set"))
        if named and given:
            raise Trouble(
                f"the inventory assigns {named[0]} to {host.name}, the command line {given}",
                "leave one of them out",
                Exit.USAGE,
            )
        default = given or usual
        if not named and default and (not grouped or _GROUP in host.groups):
            found.append(Assignment(host.name, default, variants, sets))
        found += [Assignment(host.name, profile, variants, sets, from_inventory=True) for profile in named]
    if not found:
        raise Trouble(
            f"no profile for the {f'{len(hosts)} nodes' if len(hosts) > 1 else 'node'} of this inventory",
            "name one: dsv4deploy apply PROFILE -i INVENTORY, or dsv4_profile=... in the inventory",
            Exit.USAGE,
        )
    return tuple(found)


def _see_that_they_are_ours(host: Host) -> None:
    for name in host.variables:
        meant = () if name in _OURS else misspelt(name, _OURS)
        if meant:
            raise Trouble(
                f"the inventory sets {name} for {host.name}, which nothing reads",
                f"did you mean {meant[0]}?",
                Exit.USAGE,
            )


def machines(hosts: Iterable[Host]) -> Mapping[str, str]:
    """What stands behind each node that is reached over the network: two names may be one machine.

    An address that only Ansible can work out, or that is reached another way, is taken for another machine.
    """
    ways = ("ansible_port", "ansible_ssh_common_args", "ansible_ssh_extra_args")
    found = {}
    for host in hosts:
        address = str(host.variables.get("ansible_host", host.name))
        if host.variables.get("ansible_connection") != "local" and "{{" not in address:
            found[host.name] = " ".join([address, *(str(host.variables.get(way, "")) for way in ways)])
    return found


def overlaps(wanted: Iterable[Wanted], machine: Mapping[str, str]) -> tuple[str, ...]:
    """What two deployments on one machine would both take: names, cards, ports, derived ports too."""
    found: dict[str, list[Wanted]] = {}
    for one in wanted:
        found.setdefault(machine.get(one.node, one.node), []).append(one)
    return tuple(
        told for several in found.values() for left, right in combinations(several, 2) for told in _both(left, right)
    )


def _both(left: Wanted, right: Wanted) -> Iterable[str]:
    where = left.node if left.node == right.node else f"{left.node} and {right.node}, which are one machine"
    if left.name == right.name:
        yield f"{where}: two profiles are named {left.name}"
    for what, numbers in (("card", _cards(left) & _cards(right)), ("port", _ports(left) & _ports(right))):
        if numbers:
            yield f"{where}: {left.name} and {right.name} both take {what} {min(numbers)}"


def _cards(one: Wanted) -> set[int]:
    return set(one.manifest.get("devices") or ())


def _ports(one: Wanted) -> set[int]:
    return set(one.manifest["endpoint"].get("ports") or ())


def _texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return (
        (value,)
        if isinstance(value, str)
        else tuple(map(str, value))
        if isinstance(value, list | tuple)
        else (str(value),)
    )
