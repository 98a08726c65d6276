"""Environment variables are read from the registry and from everywhere else."""

from textwrap import dedent

from dsv4deploy.model.flag import EnvVar
from dsv4deploy.source.extract_variables import extract_variables

REGISTRY = dedent("""
    class Level(IntEnum):
        OFF = 0
        WARN = 1
    class Envs:
        SGLANG_ON = EnvBool(True)
        SGLANG_COUNT: EnvInt = EnvInt(2 * 8)
        SGLANG_RATE = EnvFloat(-1)
        SGLANG_DIR = EnvStr(lambda: cache("x"))
        SGLANG_LIST = EnvTuple(("a", "b"))
        SGLANG_LEVEL = EnvInt(Level.WARN)
        SGLANG_NEW = EnvBoolWithAlias(False, deprecated_name="SGLANG_OLD")
    _DEPRECATED_ENVS = {"SGLANG_GONE": _DeprecatedEnv(replacement="SGLANG_ON", note="Says why.")}
    def convert():
        _print_deprecated_env("SGLANG_BEFORE", "SGLANG_COUNT")
        _warn_deprecated_env_to_cli_flag("SGLANG_FLAG", "Use --flag")
""")


def read(**more: str) -> dict[str, EnvVar]:
    texts = {"sglang/srt/environ.py": REGISTRY, **{f"sglang/{name}.py": text for name, text in more.items()}}
    return {variable.name: variable for variable in extract_variables(texts)}


def test_the_registry_gives_type_and_default() -> None:
    found = read()
    told = {name: (found[name].type, found[name].default) for name in found if not found[name].deprecated}
    assert told == {
        "SGLANG_ON": ("bool", True),
        "SGLANG_COUNT": ("int", 16),
        "SGLANG_RATE": ("float", -1),
        "SGLANG_DIR": ("str", None),
        "SGLANG_LIST": ("tuple", ("a", "b")),
        "SGLANG_LEVEL": ("int", 1),
        "SGLANG_NEW": ("bool", False),
    }


def test_a_retired_name_says_what_replaces_it() -> None:
    found = read()
    assert found["SGLANG_OLD"].replaced_by == "SGLANG_NEW"
    assert (found["SGLANG_GONE"].replaced_by, found["SGLANG_GONE"].note) == ("SGLANG_ON", "Says why.")
    assert found["SGLANG_BEFORE"].replaced_by == "SGLANG_COUNT"
    assert found["SGLANG_FLAG"].note == "Use --flag"


def test_what_is_read_in_passing_is_found_too() -> None:
    found = read(
        a='x = os.environ.get("SGLANG_RAW")\ny = get_bool_env_var("SGLANG_RAW_BOOL", "true")',
        b='NAME = "SGLANG_BY_CONSTANT"\nz = os.environ["NCCL_ALGO"]\n# SGLANG_IN_A_COMMENT',
    )
    assert (found["SGLANG_RAW_BOOL"].type, found["SGLANG_RAW_BOOL"].registered) == ("bool", False)
    assert {"SGLANG_RAW", "SGLANG_BY_CONSTANT", "NCCL_ALGO"} <= set(found)
    assert "SGLANG_IN_A_COMMENT" not in found


def test_tests_and_benchmarks_say_nothing() -> None:
    assert "SGLANG_RAW" not in read(**{"test/x": 'getenv("SGLANG_RAW")', "bench_one": 'getenv("SGLANG_RAW")'})
