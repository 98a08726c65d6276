"""Which course a start takes: by name, by the rules of the world, by chance with a seed."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Module = Callable[[str, str], ModuleType]
VERSION = "0.5.21"
COMPILE = ["--tp-size", "4", "--enable-torch-compile"]


@pytest.fixture
def course(module: Module) -> Callable[..., Any]:
    def chosen(words: list[str], world: dict[str, Any] | None = None, **environment: str) -> Any:
        arguments = module(VERSION, "parser").parse(["--model-path", "/models/none", *words])
        stack = module(VERSION, "stack").Stack(arguments, world)
        return module(VERSION, "script").choose(stack, environment)

    return chosen


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        (["--tp-size", "4"], {}, None),
        (COMPILE, {}, "stream-capture-isolation"),
        ([*COMPILE, "--cuda-graph-backend-decode", "disabled"], {}, None),
        ([*COMPILE, "--disable-cuda-graph"], {}, None),
        # The disabling flag loses to the backend.
        ([*COMPILE, "--disable-cuda-graph", "--cuda-graph-backend-decode", "full"], {}, "stream-capture-isolation"),
        (COMPILE, {"SGLANG_TORCH_COMPILE_MODE": "reduce-overhead"}, "stream-capture-replay"),
        (["--tp-size", "4", "--moe-runner-backend", "flashinfer_trtllm"], {}, "unsupported-arch-load"),
        (["--tp-size", "3"], {}, "shard-geometry-init"),
        (["--tp-size", "1"], {}, "oom-load"),
        (["--tp-size", "4", "--mem-fraction-static", "0.3"], {}, "oom-kv"),
        (["--tp-size", "4", "--context-length", "2000000"], {}, "context-too-long"),
        (
            ["--tp-size", "4", "--context-length", "2000000"],
            {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"},
            None,
        ),
        (["--tp-size", "4"], {"DSV4_REHEARSAL_FAIL": "oom-serve:rank=1,requests=3"}, "oom-serve"),
    ],
)
def test_known_bad_combinations_fail_as_the_engine_does(
    words: list[str], environment: dict[str, str], expected: str | None, course: Callable[..., Any]
) -> None:
    assert course(words, **environment).name == expected


@pytest.mark.parametrize(("experts", "expected"), [("mxfp4", None), ("nvfp4", "unsupported-arch-load")])
def test_the_automatic_moe_runner_depends_on_the_experts(
    experts: str, expected: str | None, course: Callable[..., Any]
) -> None:
    assert course(["--tp-size", "4"], {"model": {"experts": experts}}).name == expected


def test_options_of_a_failure_are_read(course: Callable[..., Any]) -> None:
    script = course(["--tp-size", "4"], DSV4_REHEARSAL_FAIL="oom-serve:rank=1,requests=3,seconds=0.5")
    assert (script.rank, script.requests, script.seconds) == (1, 3, 0.5)
    assert script.strikes("serve", 1)
    assert not script.strikes("serve", 0)
    assert not script.strikes("load", 1)


def test_an_unknown_failure_is_refused_by_name(course: Callable[..., Any]) -> None:
    with pytest.raises(SystemExit, match=r"no failure script 'nope'; there are: .*oom-load"):
        course([], DSV4_REHEARSAL_FAIL="nope")


def test_rules_of_the_world_come_first_and_delays_add_up(course: Callable[..., Any]) -> None:
    rules = [
        {"when": {"tp_size": [4, 8]}, "then": {"delay": {"load": 1}}},
        {"when": {"env.KERNEL": "1"}, "then": {"fail": "capture-failed", "delay": {"load": 2}}},
    ]
    script = course(COMPILE, {"rules": rules}, KERNEL="1")
    assert (script.name, script.delays) == ("capture-failed", {"load": 3.0})
    assert course(COMPILE, {"rules": rules}).name == "stream-capture-isolation"


def test_chance_has_a_seed_and_each_start_its_own_draw(
    course: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(seed: int) -> list[bool]:
        rules = [{"when": {}, "then": {"fail": "capture-failed", "probability": 0.4, "seed": seed}}]
        names = []
        for attempt in range(1, 41):
            monkeypatch.setenv("DSV4_REHEARSAL_ATTEMPT", str(attempt))
            names.append(course(["--tp-size", "4"], {"rules": rules}).name is not None)
        return names

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 8 < sum(drawn(1)) < 24


def test_starts_are_counted_where_nobody_numbers_them(
    course: Callable[..., Any], tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rules = [{"when": {}, "then": {"fail": "capture-failed", "probability": 0.5, "seed": 3}}]
    names = [course(["--tp-size", "4"], {"rules": rules}).name for _ in range(12)]
    assert {None, "capture-failed"} == set(names)
