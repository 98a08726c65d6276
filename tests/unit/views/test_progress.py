"""Progress says what is news, once."""

from typing import Any

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.views.progress import Progress


def told(*events: tuple[str, Kind, dict[str, Any]]) -> list[str]:
    progress = Progress()
    lines = [progress.line(Event("gpu01", step, kind, {"name": "flash", **answer})) for step, kind, answer in events]
    return [line for line in lines if line is not None]


def test_a_start_is_told_stage_by_stage() -> None:
    load, capture = {"state": "progressing", "stage": "load"}, {"state": "progressing", "stage": "capture"}
    assert told(
        ("stage", Kind.OK, {"changed": True}),
        ("switch", Kind.OK, {"changed": True}),
        ("wait", Kind.RETRY, load),
        ("wait", Kind.RETRY, load),
        ("wait", Kind.RETRY, capture),
        ("wait", Kind.OK, {"state": "ready", "seconds": 341.6}),
    ) == [
        "gpu01  flash  preflight ok, release uploaded",
        "gpu01  flash  started",
        "gpu01  flash  progressing: load",
        "gpu01  flash  progressing: capture",
        "gpu01  flash  ready after 5:42",
    ]


def test_what_did_not_change_and_what_is_ansibles_own_is_no_news() -> None:
    quiet: list[tuple[str, Kind, dict[str, Any]]] = [
        ("stage", Kind.OK, {"changed": False}),
        ("switch", Kind.OK, {"changed": False}),
        ("restore", Kind.OK, {"changed": False, "to": "a"}),
        ("fail", Kind.FAILED, {"msg": "x"}),
    ]
    assert told(*quiet) == []


def test_a_change_that_needs_no_start_is_not_told_as_one() -> None:
    again = {"changed": True, "judging": False, "started": False}
    assert told(("switch", Kind.OK, again)) == ["gpu01  flash  changed in place: what runs goes on"]
    assert told(("switch", Kind.OK, {**again, "started": True})) == ["gpu01  flash  started"]


def test_a_failure_is_told_in_one_line() -> None:
    assert told(("switch", Kind.FAILED, {"msg": "port 1 is taken\nmore"})) == ["gpu01  flash  failed: port 1 is taken"]


def test_a_ready_server_tells_which_phases_took_long() -> None:
    entered = {"args": 0.0, "init": 4.0, "load": 20.2, "pool": 255.0, "capture": 262.5, "warmup": 303.4, "serve": 303.9}
    ready = {"state": "ready", "stage": "serve", "seconds": 342.2, "stages": entered}
    assert told(("wait", Kind.OK, ready)) == ["gpu01  flash  ready after 5:42 (weights 3:55, capture 41 s)"]
    assert told(("wait", Kind.OK, ready | {"seconds": 9.6})) == ["gpu01  flash  ready after 10 s"]
