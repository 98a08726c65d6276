"""A plan as a person reads it, and as a program does."""

import json

from dsv4deploy.model.plan import Action, Change, Plan, Step
from dsv4deploy.views.plan import machine, render

NEW, OLD = "a" * 64, "b" * 64
FLAG = Step(
    "gpu01",
    "flash",
    Action.RESTART,
    (
        Change("argument --port", "changed with the profile", "1", "2"),
        Change("serve.sh", "changed with the profile", "x\n", "y\n"),
    ),
    NEW,
    OLD,
    300,
)


def test_no_changes_is_a_result() -> None:
    steps = tuple(Step(node, "flash", Action.NONE, release=NEW, current=NEW) for node in ("gpu01", "gpu02"))
    assert render(Plan(steps)) == "No changes. 2 nodes run release aaaaaaaaaaaa.\n"


def test_a_change_shows_what_why_and_what_it_costs() -> None:
    assert render(Plan((FLAG,))) == (
        "gpu01  flash  release bbbbbbbbbbbb -> aaaaaaaaaaaa  (one restart, about 5 min by its last start)\n"
        "  - argument --port 1\n"
        "  + argument --port 2\n"
        "  ~ serve.sh: changed with the profile\n"
        "      @@ -1 +1 @@\n"
        "      -x\n"
        "      +y\n"
        "1 to change, 1 running server goes down for it.\n"
    )


def test_what_needs_no_start_is_told_with_what_it_was() -> None:
    why = "changed with the profile, and needs no start"
    changes = (Change("health.timeout_s", why, "300", "60"), Change("waivers", why, None, "[]"), Change("x", "edited"))
    text = render(Plan((Step("gpu01", "flash", Action.IN_PLACE, changes, NEW, NEW),)))
    assert f"  ~ health.timeout_s: 300 -> 60; {why}\n  ~ waivers: nothing -> []; {why}\n  ~ x: edited\n" in text
    assert "in place, no restart" in text


def test_nodes_that_are_alike_are_told_once() -> None:
    same = Step(
        "gpu02", *[getattr(FLAG, name) for name in ("name", "action", "changes", "release", "current", "cost_s")]
    )
    assert "gpu02  flash  as gpu01\n2 to change" in render(Plan((FLAG, same)))


def test_what_stands_in_the_way_is_told_with_the_node() -> None:
    refused = Step("gpu03", "flash", Action.REFUSE, (Change("ports", "port 1 is taken by pid 7"),))
    text = render(Plan((refused,)))
    assert "gpu03  flash  refuse: ports: port 1 is taken by pid 7\n0 to change" in text
    assert text.endswith("1 refused.\n")


def test_the_machine_reads_the_same() -> None:
    document = json.loads(machine(Plan((FLAG,))))
    assert (document["schema"], document["changes"], document["steps"][0]["action"]) == ("plan/1", True, "restart")
