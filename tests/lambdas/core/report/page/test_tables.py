import json

import pytest

from lambdas.core.report.page import tables
from lambdas.core.report.report import Report
from tests.lambdas.builders import node
from tests.page import scenarios
from tests.paths import CONTRACTS, ROOT


def test_success_is_compared_with_the_estimate_and_with_the_direct_path() -> None:
    time, rate, cost = tables.comparisons(scenarios.succeeded())
    assert (time.title, time.verdict, [bar.kind for bar in time.bars]) == (
        "Time of data",
        "3 % longer than estimated",
        ["measured", "estimated", "direct"],
    )
    assert time.bars[2].share == 100
    assert rate.verdict == "3 % slower than estimated"
    assert [bar.label for bar in cost.bars] == ["measured", "estimated"]


def test_failure_is_not_held_against_the_time_of_a_whole_transfer() -> None:
    time, rate, _ = tables.comparisons(scenarios.failed())
    assert (time.verdict, [bar.kind for bar in time.bars]) == ("", ["measured"])
    assert [bar.kind for bar in rate.bars] == ["measured", "estimated", "direct"]


@pytest.mark.parametrize("name", ["refused", "measured"])
def test_without_data_neither_time_nor_rate_is_compared(name: str) -> None:
    assert {one.title for one in tables.comparisons(scenarios.ALL[name]())} <= {"Cost"}


def test_shares_of_money_add_up() -> None:
    found = tables.money(scenarios.succeeded())
    assert sum(bar.share for bar in found) == pytest.approx(100, abs=0.1)


def test_paths_carry_all_bytes() -> None:
    report = scenarios.succeeded()
    assert report.course is not None
    rows = tables.paths(report.course)
    assert sum(row.bytes for row in rows) == pytest.approx(report.bytes, rel=1e-4)
    assert sum(row.share for row in rows) == pytest.approx(100)
    assert sum(row.retries for row in rows) == report.retries
    assert rows[0].first == 0


def test_a_relays_rate_is_that_of_its_paths_while_it_was_joined() -> None:
    course = scenarios.succeeded().course
    assert course is not None
    joined = course.zero_at + 15
    one = node("source", 1, joined_at=joined, ended_at=joined + 9, state="LOST", reason="spot", successor="source-1-1")
    (row,) = tables.relays([one], course)
    assert row.observed == pytest.approx(20.5, rel=0.03)
    assert row.end == "lost: spot; replaced by source-1-1"
    never = node("source", 9, ready_at=1012.0, running_at=1004.0, state="REJECTED")
    (row,) = tables.relays([never], course)
    assert (row.serving, row.observed, row.start.launch, row.start.agent) == (12.0, None, 4.0, None)


def test_what_went_through_the_pool_has_a_share_of_its_own() -> None:
    report = Report.from_document(json.loads((CONTRACTS / "examples/good/report/through-the-pool.json").read_text()))
    assert report.pool is not None
    (bar,) = (bar for bar in tables.money(report) if bar.label == "pool")
    assert bar.share == pytest.approx(100 * report.pool.usd / report.cost.total, abs=0.01)
    assert f".{bar.kind} " in (ROOT / "lambdas/core/report/page/templates/report.css").read_text()
