"""A profile says which Python, pool and kernels are probed, and what cannot be."""

from pathlib import Path

from house import looked

from dsv4deploy.flow import Looked
from dsv4deploy.model.memory import Account, Interval, Part, Sure, Term
from dsv4deploy.stages.probe_plan import probe_plan

ROOT = Path(__file__).parents[3] / "examples/sparse-decode-patch"
PROFILE = f"""
name: flash
engine: {{version: 0.5.23, venv: /opt/sglang}}
model: {{path: /models/x}}
kernels: {{patches: [{ROOT}/patches/mma-decode]}}
"""
POOL = Account((Term(Part.POOL, "pool", Interval(1e9, 2e9, 3e9), "B", "arithmetic", Sure.EXACT),))


def seen() -> Looked:
    return looked(PROFILE)


def test_python_pool_and_kernel_come_from_the_profile() -> None:
    one = seen()
    plan = probe_plan(one.profile, POOL, one.patches)
    assert plan.python == "/opt/sglang/bin/python"
    assert plan.words == ("--pool-bytes", "2000000000", "--kernel", "trials/mma-decode.py:trial")
    assert plan.trials == {"trials/mma-decode.py": str(ROOT / "patches/mma-decode/trial.py")}
    assert plan.told == ()


def test_a_pool_that_nobody_can_predict_is_said_with_what_it_needs() -> None:
    one = seen()
    plan = probe_plan(one.profile, Account(needs=("the model folder",)), ())
    assert plan.words == ()
    assert plan.told == (
        "the pool is not predicted: needs the model folder; nine tenths of what is free are tried instead",
    )
