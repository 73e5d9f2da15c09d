from math import ceil
from typing import Any

import pytest

from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.pair_choice import choose
from lambdas.core.estimate.rows import Row, build_rows
from lambdas.core.request import Objective
from tests.lambdas.builders import figures

GB = 10**9


def rows(size: int = 2 * GB, **changes: float) -> list[Row]:
    return build_rows(size, 8, figures(**changes))


def chosen(found: list[Row], requested: Any = "auto", **objective: Any) -> tuple[int, str]:
    return choose(found, requested, Objective(**objective), figures(), pre_test=False)


def bears(pairs: int) -> float:
    return needed(rows()[pairs], figures(), pre_test=False)


def test_least_time_and_least_cost() -> None:
    assert chosen(rows(), minimise="time")[0] == 7
    assert chosen(rows(), minimise="cost")[0] == 0


def test_balanced_is_the_knee_between_them() -> None:
    pairs, reason = chosen(rows(20 * GB))
    assert 0 < pairs <= 7
    assert "knee" in reason


def test_explicit_pairs_are_taken_as_far_as_the_budget_goes() -> None:
    assert chosen(rows(), 3) == (3, "3 pairs were asked for")
    pairs, reason = chosen(rows(), 5, max_cost_usd=bears(2))
    assert pairs == 2
    assert "5 pairs were asked for; 2 fit" in reason


def test_a_budget_is_used_unless_fewer_pairs_are_as_fast() -> None:
    assert chosen(rows(), max_cost_usd=bears(2))[0] == 2
    # The source's 160 MB/s are reached with 7 pairs: the eighth would cost and bring nothing.
    assert chosen(rows(), max_cost_usd=1000.0)[0] == 7


def test_a_budget_that_bears_no_pair_is_the_reason_for_none() -> None:
    assert chosen(rows(), max_cost_usd=bears(0)) == (
        0,
        f"no pair that helps fits into {bears(0)} dollars; direct {rows()[0].seconds:.0f} s",
    )


def test_a_budget_below_the_direct_path_is_refused() -> None:
    with pytest.raises(BudgetTooSmall, match=r"maxCostUsd: 0\.01 "):
        chosen(rows(), max_cost_usd=0.01)


def test_a_budget_keeps_free_what_the_meter_holds_back() -> None:
    assert chosen(rows(), max_cost_usd=bears(2) - 1e-9)[0] == 1
    with pytest.raises(BudgetTooSmall, match=rf"cheapest choice needs, {ceil(bears(0) * 1e4) / 1e4}"):
        chosen(rows(), max_cost_usd=rows()[0].cost_usd)


def test_a_deadline_takes_the_cheapest_that_meets_it() -> None:
    assert chosen(rows(), deadline_seconds=40)[0] == 2
    assert chosen(rows(), deadline_seconds=1000)[0] == 0


@pytest.mark.parametrize("requested", ["auto", 1])
def test_an_unreachable_deadline_is_refused_with_the_best(requested: Any) -> None:
    with pytest.raises(DeadlineUnreachable, match="deadlineSeconds: 5 cannot be met; the best is"):
        chosen(rows(), requested, deadline_seconds=5)


def test_relays_that_bring_nothing_are_not_taken_and_the_reason_says_why() -> None:
    pairs, reason = chosen(rows(100 * GB, direct=160.0))
    assert pairs == 0
    assert "source machine" in reason
