"""An account as people and programs see it."""

import json

from dsv4deploy.model.memory import GIB, Account, Interval, Part, Sure, Term, exactly
from dsv4deploy.views.memory import memory_table, memory_tree

ACCOUNT = Account(
    terms=(
        Term(Part.BUDGET, "free before load", Interval(92 * GIB, 94 * GIB, 94.5 * GIB), "B", "the card", Sure.LOGGED),
        Term(Part.BUDGET, "static fraction", exactly(0.93), "", "--mem-fraction-static", Sure.EXACT),
        Term(Part.POOL, "tokens", Interval(1000, 2000, 30000), "tokens", "whole pages", Sure.EXACT),
    ),
    tokens=Interval(1000, 2000, 30000),
    needs=("engine_version",),
    not_modelled=("--enable-lora: adapters",),
)


def test_the_table_says_number_unit_sureness_and_source() -> None:
    assert memory_table(ACCOUNT).splitlines() == [
        "                      low  likely    high          how sure  from",
        "budget",
        "  free before load  92.00   94.00   94.50  GiB     logged    the card",
        "  static fraction            0.93                  exact     --mem-fraction-static",
        "pool",
        "  tokens            1,000   2,000  30,000  tokens  exact     whole pages",
        "unknown: needs engine_version",
        "not modelled: --enable-lora: adapters",
    ]


def test_an_account_without_terms_says_only_what_it_needs() -> None:
    assert memory_table(Account(needs=("gpu_memory_mib",))) == "unknown: needs gpu_memory_mib"


def test_the_tree_is_json_with_a_schema() -> None:
    tree = json.loads(json.dumps(memory_tree(ACCOUNT)))
    assert tree["schema"] == "memory/1"
    assert tree["tokens"] == {"low": 1000, "likely": 2000, "high": 30000}
    assert tree["slack_bytes"] is None
    assert tree["terms"][1] == {
        "part": "budget",
        "name": "static fraction",
        "amount": {"low": 0.93, "likely": 0.93, "high": 0.93},
        "unit": "",
        "sure": "exact",
        "source": "--mem-fraction-static",
    }
