"""Flags are read from the texts of all three forms in which SGLang has defined them."""

from textwrap import dedent

import pytest

from dsv4deploy.model.flag import ABSENT, Flag
from dsv4deploy.source.extract_flags import extract_flags
from dsv4deploy.source.named import UnresolvedError

CALLS = """
    import argparse, dataclasses, json
    from typing import List, Optional
    CHOICES = ["a", "b"]
    class DeprecatedAction(argparse.Action): pass
    class DeprecatedAliasStoreAction(argparse.Action): pass
    @dataclasses.dataclass
    class ServerArgs:
        tp_size: int = 1
        prefixes: List[str] = dataclasses.field(default_factory=lambda: ["x"])
        @staticmethod
        def add_cli_args(parser):
            kinds = list(CHOICES)
            parser.add_argument("--model-path", "--model", type=str, required=True, help="m")
            parser.add_argument("--tensor-parallel-size", "--tp-size", type=int, default=ServerArgs.tp_size)
            parser.add_argument("--kind", choices=["auto"] + kinds, default="auto")
            parser.add_argument("--prefixes", type=str, nargs="*", default=ServerArgs.prefixes)
            parser.add_argument("--fast", action="store_true")
            parser.add_argument("--both", action=argparse.BooleanOptionalAction, default=None)
            parser.add_argument("--sampling", type=json.loads)
            parser.add_argument("--gone", action=DeprecatedAction, error_message="use --kind")
            parser.add_argument("--noop", action=DeprecatedAction)
            parser.add_argument("--was", dest="kind", action=DeprecatedAliasStoreAction, new_flag="--kind", default=argparse.SUPPRESS)
        @classmethod
        def from_cli_args(cls, args):
            args.tp_size = args.tensor_parallel_size
            return cls(tp_size=args.tp_size)
"""
FIELDS = """
    import argparse
    from typing import List, Literal, Optional, Union, Dict
    from sglang.srt.arg_groups.arg_utils import A, Arg, NS, add_cli_args_from_dataclass
    def human_readable_int(value): return int(value)
    class ServerArgs:
        model_path: A[str, Arg(help="m", aliases=["--model"])]
        tp_size: A[int, Arg(cli_name="--tensor-parallel-size", aliases=["--tp-size"])] = 1
        length: A[Optional[int], Arg(type_parser=human_readable_int)] = None
        mode: A[Literal["x", "y"], "mode"] = "x"
        level: A[Literal[1, 2], "level"] = 1
        backend: A[Literal[None, "m"], "backend"] = None
        sizes: A[Optional[List[int]], "sizes"] = None
        fast: A[bool, "fast", NS("exec")] = False
        both: A[Optional[bool], Arg(action=argparse.BooleanOptionalAction)] = None
        hooks: A[Union[str, Dict], Arg(no_cli=True)] = None
        plain: int = 3
        @staticmethod
        def add_cli_args(parser):
            add_cli_args_from_dataclass(parser, ServerArgs)
            parser.add_argument("--config", type=str)
        @classmethod
        def from_cli_args(cls, args): pass
"""
STRUCTS = """
    import msgspec
    class ServerArgs(msgspec.Struct):
        def add_cli_args(parser):
            add_cli_args_from_dataclass(parser, ServerArgs)
            if envs.SGLANG_MORE.get():
                parser.add_argument("--more")
            parser.add_argument("--kind", default=_declared_default("kind"))
        def from_cli_args(cls, args): pass
    ServerArgs = msgspec.defstruct("ServerArgs", [])
"""


def read(text: str, **more: str) -> dict[str, Flag]:
    texts = {"sglang/srt/server_args.py": dedent(text), **{path: dedent(each) for path, each in more.items()}}
    found = extract_flags(texts)
    assert found.problems == ()
    return {flag.name: flag for flag in found.flags}


def test_calls_of_add_argument_are_read() -> None:
    flags = read(CALLS)
    assert flags["--model-path"] == Flag("--model-path", "model_path", ("--model",), required=True)
    assert flags["--kind"].choices == ("auto", "a", "b")
    assert flags["--prefixes"] == Flag("--prefixes", "prefixes", nargs="*", default=("x",))
    assert flags["--fast"] == Flag("--fast", "fast", type="bool", nargs=0, action="store-true", default=False)
    assert flags["--both"].names == ("--both", "--no-both")
    assert flags["--sampling"].type == "json"


def test_a_flag_is_called_by_the_field_that_the_engine_copies_it_to() -> None:
    flag = read(CALLS)["--tp-size"]
    assert (flag.dest, flag.aliases, flag.default) == ("tp_size", ("--tensor-parallel-size",), 1)


def test_a_retired_flag_keeps_what_it_says() -> None:
    flags = read(CALLS)
    assert (flags["--gone"].action, flags["--gone"].successor) == ("refuse", "use --kind")
    assert (flags["--noop"].action, flags["--noop"].deprecated) == ("ignore", True)
    was = flags["--was"]
    assert (was.dest, was.default, was.successor, was.deprecated) == ("kind", ABSENT, "--kind", True)


def test_annotated_fields_are_read() -> None:
    flags = read(FIELDS)
    assert flags["--model-path"].required
    assert flags["--tp-size"].aliases == ("--tensor-parallel-size",)
    assert (flags["--length"].type, flags["--length"].default) == ("human-int", None)
    assert flags["--mode"].choices == ("x", "y")
    assert (flags["--level"].type, flags["--level"].choices) == ("int", (1, 2))
    assert flags["--backend"].type == "str"
    assert (flags["--sizes"].type, flags["--sizes"].nargs) == ("int", "+")
    assert flags["--fast"].action == "store-true"
    assert flags["--both"].action == "boolean-optional"
    assert set(flags) & {"--hooks", "--plain"} == set()


def test_fields_in_modules_of_their_own_are_read() -> None:
    fields = "class Model:\n    _NS_PATH = 'model'\n    kind: A[str, 'k'] = 'auto'\n    model_path: A[str | None, 'm'] = None\n"
    flags = read(STRUCTS, **{"sglang/srt/arg_groups/fields/model.py": fields})
    assert list(flags) == ["--kind", "--model-path"]
    assert flags["--kind"].default == "auto"


def test_a_value_that_cannot_be_told_is_a_problem_and_not_a_guess() -> None:
    found = extract_flags({"sglang/srt/server_args.py": dedent(CALLS).replace("list(CHOICES)", "plugins.choices()")})
    assert [problem.split(":")[0] for problem in found.problems] == ["'--kind'"]


def test_a_field_that_is_no_flag_may_have_any_default() -> None:
    assert "--tp-size" in read(FIELDS.replace("plain: int = 3", "plain: int = somewhere.else_()"))


@pytest.mark.parametrize("texts", [{}, {"sglang/srt/server_args.py": "x = 1"}])
def test_texts_without_a_server_are_refused(texts: dict[str, str]) -> None:
    with pytest.raises(UnresolvedError):
        extract_flags(texts)
