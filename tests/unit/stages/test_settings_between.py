"""What differs between two profiles is found leaf by leaf, without what cannot matter."""

from house import Written, looked

from dsv4deploy.flow import merged_profile
from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.stages.settings_between import Between, likely, refused_by_engine, settings_between

GOOD = """
name: flash
engine: {version: 0.5.23, venv: /opt/sglang}
model: {path: /models/x}
parallel: {tp: 4}
memory: {fraction_static: 0.6}
server: {port: 30000}
"""
BAD = """
name: other
engine: {version: 0.5.23, venv: /opt/sglang}
model: {path: /models/x}
parallel: {tp: 8}
compile: {torch_compile: true}
env: {A_B: 1}
server: {port: 31000}
"""


def between(good: str, bad: str) -> Between:
    texts = Written({"good": good, "bad": bad})
    return settings_between(merged_profile(texts, "good"), merged_profile(texts, "bad"))


def test_leaves_that_differ_come_with_the_text_that_sets_them() -> None:
    assert between(GOOD, BAD).sets == {
        "compile.torch_compile": ("compile.torch_compile=true",),
        "env.A_B": ("env.A_B=1",),
        "memory.fraction_static": ("memory.fraction_static=null",),
        "parallel.tp": ("parallel.tp=8",),
    }


def test_all_texts_together_make_the_bad_side() -> None:
    both = between(GOOD, BAD)
    sets = both.texts(both.names)
    mine, theirs = looked(GOOD, *sets), looked(BAD)
    words = [[s.words for s in one.launch.settings.values() if s.dest != "port"] for one in (mine, theirs)]
    assert words[0] == words[1]


def test_equal_profiles_do_not_differ() -> None:
    assert between(GOOD, GOOD).names == ()


def test_a_version_with_its_venv_is_one_setting() -> None:
    both = between(GOOD, GOOD.replace("version: 0.5.23, venv: /opt/sglang", "version: 0.5.22, venv: /opt/older"))
    assert both.names == ("engine",)
    assert both.texts(both.names) == ('engine.venv="/opt/older"', 'engine.version="0.5.22"')
    assert both.told("engine") == 'engine.venv="/opt/older", engine.version="0.5.22"'


def test_each_patch_is_a_setting_and_keeps_its_place() -> None:
    both = between(GOOD + "kernels: {patches: [a, b]}\n", GOOD + "kernels: {patches: [b, c, d]}\n")
    assert both.names == ("patch c", "patch d", "patch a")
    assert both.texts(()) == ()
    assert both.texts(["patch d"]) == ('kernels.patches=["b", "d", "a"]',)
    assert both.texts(["patch a"]) == ('kernels.patches=["b"]',)
    assert both.texts(both.names) == ('kernels.patches=["b", "c", "d"]',)
    assert (both.told("patch a"), both.told("patch c")) == ("patch a (not there)", "patch c (there)")


def test_the_order_of_the_same_patches_is_one_setting() -> None:
    both = between(GOOD + "kernels: {patches: [a, b]}\n", GOOD + "kernels: {patches: [b, a]}\n")
    assert both.texts(both.names) == ('kernels.patches=["b", "a"]',)


def test_what_the_rules_blame_is_likelier() -> None:
    seen = looked(BAD)
    told = [Diagnostic("r", Level.ERROR, "m", names=("setting:enable_torch_compile", "env:NOBODY"))]
    found = likely(("compile.torch_compile", "parallel.tp"), seen.launch, told)
    assert found["compile.torch_compile"] > found["parallel.tp"] == 1.0


def test_only_what_the_engine_itself_refuses_is_not_worth_a_launch() -> None:
    assert refused_by_engine([Diagnostic("unknown-flag", Level.ERROR, "m")])
    assert refused_by_engine([Diagnostic("r", Level.ERROR, "m", evidence=("enforced: it raises [x]",))])
    assert not refused_by_engine([Diagnostic("r", Level.ERROR, "m", evidence=("reproduced: it crashed [x]",))])
    assert not refused_by_engine([Diagnostic("r", Level.WARNING, "m")])
