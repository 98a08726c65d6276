"""Checkups and states of servers as a person reads them."""

from dsv4deploy.model.checked import Checkup
from dsv4deploy.model.mark import Condition, Core, Mark, Sighting
from dsv4deploy.model.observed import Deployment
from dsv4deploy.views import health, serving

CHECKUP = Checkup.model_validate(
    {
        "state": "bad",
        "checks": [
            {"check": "endpoints", "state": "good", "told": "/ready answers 200"},
            {"check": "server-info", "state": "bad", "told": "2 settings", "details": ["first", "second"]},
        ],
    }
)


def test_a_failed_check_shows_what_is_behind_it() -> None:
    assert health.render("flash", {"gpu01": CHECKUP}, {"gpu01": ["page_size became 256"]}).splitlines() == [
        "gpu01  flash  not healthy",
        "  good     endpoints    /ready answers 200",
        "  bad      server-info  2 settings",
        "             second",
        "  note: page_size became 256",
    ]


def test_nodes_that_are_alike_are_told_once() -> None:
    other = CHECKUP.model_copy(update={"checks": CHECKUP.checks[1:]})
    nodes = {"gpu01": CHECKUP, "gpu02": CHECKUP, "gpu03": other}
    heads = [
        line for line in health.render("flash", nodes, dict.fromkeys(nodes, ())).splitlines() if line.startswith("gpu")
    ]
    assert heads == [
        "gpu01  flash  not healthy",
        "gpu02  flash  not healthy, as gpu01",
        "gpu03  flash  not healthy",
    ]


def test_a_watcher_is_told_of_what_changed_and_of_nothing_else() -> None:
    mended = CHECKUP.model_copy(update={"state": "good", "checks": CHECKUP.checks[:1]})
    said_otherwise = CHECKUP.checks[0].model_copy(update={"told": "/ready answers 200 in 2 s"})
    same = CHECKUP.model_copy(update={"checks": (said_otherwise, CHECKUP.checks[1])})
    now = {"gpu01": mended, "gpu02": same, "gpu03": CHECKUP}
    assert health.changed({"gpu01": CHECKUP, "gpu02": CHECKUP}, now) == ("gpu01", "gpu03")


def test_the_same_for_programs() -> None:
    told = health.machine({"gpu01": CHECKUP}, {"gpu01": ["n"]}, ["gpu02  unreachable"])
    assert (told["schema"], told["unreachable"]) == ("health/1", ["gpu02  unreachable"])
    assert told["servers"][0]["checks"][1]["details"] == ["first", "second"]


def test_status_tells_load_stage_and_the_newest_mark() -> None:
    def seen(http: int, stage: str, load: dict[str, float]) -> Deployment:
        tree = {"current": "3f9c1a" + "0" * 58, "running": {"pid": 7}, "http": http, "stage": stage, "load": load}
        return Deployment.model_validate(tree)

    mark = Mark.model_validate(
        {
            "id": "oom-graph-flash-1", "name": "flash", "core": Core(), "condition": Condition(),
            "sightings": [Sighting(at="2026-11-29T15:20:11Z", node="gpu01"), Sighting(at="2026-11-30", node="gpu02")],
        }
    )  # fmt: skip
    load = {"tok_s": 57.25, "running": 3.0, "queue": 12.0, "kv_use": 0.914}
    found = [("gpu01", "flash", seen(200, "serve", load)), ("gpu03", "flash", seen(503, "capture", {}))]
    assert serving.status(found, [mark]).splitlines() == [
        "gpu01  flash  ready  release 3f9c1a000000  pid 7  /health 200",
        "  57.2 tok/s, 3 running, 12 waiting, KV 91% full",
        "  last mark: oom-graph-flash-1 (2026-11-29)",
        "gpu03  flash  starting  release 3f9c1a000000  pid 7  /health 503  at capture",
    ]
