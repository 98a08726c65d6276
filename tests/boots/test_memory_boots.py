"""Memory fit against public boots of SGLang: the page is fresh, and the errors stay where they are."""

import pytest

from tests.boots.table import PAGE, Row, middle_error, page, rows

ROWS = rows()


def test_the_page_in_docs_is_what_the_program_says_now() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python -m tests.boots.table"


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.what == "tokens of the logged pool"], ids=lambda row: row.name
)
def test_cache_arithmetic_is_exact(row: Row) -> None:
    # Logs print the pool to 0.01 GiB, and one of them only what was free before and after.
    assert abs(row.error) < 0.4


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.what == "tokens by the engine's own pool code"], ids=lambda row: row.name
)
def test_the_engines_own_pool_code_says_the_same(row: Row) -> None:
    # V4.1 sets a few whole pages aside for its indexer.
    assert abs(row.reported - row.predicted.likely) <= (512 if "V4.1" in row.name else 0)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "H200" in row.what and row.given.startswith("pool")], ids=lambda row: row.name
)
def test_the_real_engine_on_an_h200_reckons_the_same(row: Row) -> None:
    # The log prints the pool to 0.01 GiB.
    assert abs(row.error) < 0.02


def test_starts_of_the_real_engine_on_a_cpu_are_within_five_percent() -> None:
    assert max(abs(row.error) for row in ROWS if row.what == "tokens of the real SGLang on a CPU") < 5


def test_end_to_end_the_median_error_is_within_ten_percent() -> None:
    assert middle_error(ROWS, "tokens end to end") < 10


@pytest.mark.parametrize("row", [row for row in ROWS if row.what == "tokens end to end"], ids=lambda row: row.name)
def test_end_to_end_the_report_lies_in_the_interval(row: Row) -> None:
    assert row.inside


def test_weights_are_within_three_percent_in_the_median() -> None:
    assert middle_error(ROWS, "GiB of weights") < 3
