"""Who runs what is said by the inventory or by the command line, never by both."""

from typing import Any

import pytest

from dsv4deploy.model.plan import Wanted
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.stages.assign import Host, assign, machines, overlaps


def host(name: str, *groups: str, **variables: Any) -> Host:
    return Host(name, frozenset(groups), variables)


@pytest.mark.parametrize(
    ("hosts", "given", "usual", "found"),
    [
        ([host("a")], None, "profile.yaml", [("a", "profile.yaml")]),
        ([host("a"), host("b", "gpu")], None, "profile.yaml", [("b", "profile.yaml")]),
        ([host("a", "gpu")], "x.yaml", "profile.yaml", [("a", "x.yaml")]),
        ([host("a", dsv4_profile="x.yaml")], None, None, [("a", "x.yaml")]),
        ([host("a", dsv4_profile=["x.yaml", "y.yaml"])], None, "profile.yaml", [("a", "x.yaml"), ("a", "y.yaml")]),
        ([host("a", dsv4_profile="x.yaml"), host("b")], None, "profile.yaml", [("a", "x.yaml"), ("b", "profile.yaml")]),
    ],
)
def test_assignments(hosts: list[Host], given: str | None, usual: str | None, found: list[tuple[str, str]]) -> None:
    assert [(one.node, one.profile) for one in assign(hosts, given, usual)] == found


@pytest.mark.parametrize("named", [True, False])
def test_variants_and_values_of_the_inventory_hold_whoever_names_the_profile(named: bool) -> None:
    profile = {"dsv4_profile": "x.yaml"} if named else {}
    node = host("a", dsv4_variant="big", dsv4_set=["a=1", "b=2"], **profile)
    (one,) = assign([node], None if named else "x.yaml", None)
    assert (one.profile, one.variants, one.sets, one.from_inventory) == ("x.yaml", ("big",), ("a=1", "b=2"), named)


@pytest.mark.parametrize(
    ("hosts", "given", "told"),
    [
        ([host("a")], None, "no profile for the node of"),
        ([host("a", dsv4_profile="x.yaml")], "y.yaml", "assigns x.yaml to a"),
        ([host("a", dsv4_profil="x.yaml")], "y.yaml", "sets dsv4_profil for a, which nothing reads"),
        ([host("a", dsv4_sets="x=1")], "y.yaml", "sets dsv4_sets for a"),
    ],
)
def test_nothing_or_two_things_assigned_is_refused(hosts: list[Host], given: str | None, told: str) -> None:
    with pytest.raises(Trouble, match=told):
        assign(hosts, given, None)


def test_a_variable_of_their_own_that_starts_like_ours_is_theirs() -> None:
    assert assign([host("a", dsv4_serial=1, dsv4_rack="b7", dsv4_keep=3)], "y.yaml", None)


def wanted(node: str, name: str, devices: list[int] | None, ports: list[int]) -> Wanted:
    return Wanted(node, {"name": name, "digest": name, "devices": devices, "endpoint": {"ports": ports}})


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        (("a", "x", [0], [1]), ("a", "y", [1], [2]), ()),
        (("a", "x", [0], [1]), ("b", "x", [0], [1]), ()),
        (("a", "x", [0, 1], [1]), ("a", "y", [1], [2]), ("a: x and y both take card 1",)),
        (("a", "x", [0], [1, 9]), ("a", "y", [1], [9]), ("a: x and y both take port 9",)),
        (("a", "x", None, [1]), ("a", "x", None, [2]), ("a: two profiles are named x",)),
    ],
)
def test_what_must_not_meet_on_one_node(left: Any, right: Any, told: tuple[str, ...]) -> None:
    assert overlaps([wanted(*left), wanted(*right)], {}) == told


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"ansible_host": "10.0.0.1"}, {"ansible_host": "10.0.0.1"}, True),
        ({"ansible_host": "b"}, {}, True),
        ({"ansible_host": "10.0.0.1"}, {"ansible_host": "10.0.0.1", "ansible_port": 2222}, False),
        (
            {"ansible_host": "10.0.0.1", "ansible_ssh_common_args": "-J one"},
            {"ansible_host": "10.0.0.1", "ansible_ssh_common_args": "-J other"},
            False,
        ),
        ({"ansible_host": "{{ name }}.lan"}, {"ansible_host": "{{ name }}.lan"}, False),
        ({"ansible_connection": "local"}, {"ansible_connection": "local"}, False),
        ({}, {}, False),
    ],
)
def test_two_names_of_one_machine_do_not_hide_what_must_not_meet(
    one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    hosts = [host("a", **one), host("b", **other)]
    left, right = wanted("a", "flash", [0], [30000]), wanted("b", "pearl", [1], [30000])
    told = overlaps([left, right], machines(hosts))
    assert told == (("a and b, which are one machine: flash and pearl both take port 30000",) if same else ())
