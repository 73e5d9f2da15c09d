from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core import figures
from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable
from lambdas.core.estimate import Estimate, build_rows, estimate
from lambdas.core.figures import Figures
from lambdas.core.request import Objective

GB = 10**9
DEMO = Figures(
    source=160,
    destination=160,
    direct=20,
    pair=20,
    spawn_seconds=5,
    relay_hour_usd=0.1,
    egress_usd_per_gb=0.02,
    origin="configured",
)


def run(size: int = 2 * GB, using: Figures = DEMO, **changes: Any) -> Estimate:
    options: dict[str, Any] = {
        "requested": "auto",
        "pre_test": "auto",
        "objective": Objective(),
        "most_pairs": 8,
        "pre_test_seconds": 20.0,
        "instance_type": "t3.small",
    }
    return estimate(size, using, **{**options, **changes})


def test_rows_follow_the_zero_wait_model() -> None:
    rows = run().rows
    assert [row.pairs for row in rows] == list(range(9))
    assert rows[0].seconds == 100.0
    assert rows[3].seconds == pytest.approx(5 + (2000 - 100) / 80)
    assert rows[8].seconds == pytest.approx(5 + (2000 - 100) / 160)
    assert rows[3].speedup == pytest.approx(100 / 28.75, abs=0.001)
    assert rows[0].cost_usd == pytest.approx(0.04)
    assert rows[3].cost_usd == pytest.approx(0.04 + 6 * 60 * 0.1 / 3600)


def test_explicit_pairs_are_taken() -> None:
    assert run(requested=3).chosen_pairs == 3
    assert run(requested=0).chosen_pairs == 0
    assert len(run(requested=12, most_pairs=16).rows) == 13


def test_relays_that_do_not_help_are_not_used_and_the_reason_says_why() -> None:
    held = figures.combine(
        *[figures.published("m5.large", between_regions=True, internet=True)] * 3,
        relay_hour_usd=0.1,
        egress_usd_per_gb=0.02,
    )
    found = run(100 * GB, held)
    assert found.chosen_pairs == 0
    assert "source machine" in found.reason
    assert found.figures.origin == "assumed"


def test_small_transfer_is_done_before_relays_serve() -> None:
    found = run(GB // 20)
    assert found.chosen_pairs == 0
    assert "done before" in found.reason


def test_large_instances_behind_an_internet_gateway_gain_and_over_peering_do_not() -> None:
    def combined(*, internet: bool) -> Figures:
        ends = figures.published("c7gn.4xlarge", between_regions=True, internet=internet)
        relay = figures.published("c7gn.xlarge", between_regions=True, internet=internet)
        return figures.combine(ends, ends, relay, relay_hour_usd=0.2, egress_usd_per_gb=0.02)

    assert run(2_000 * GB, combined(internet=True)).chosen_pairs > 0
    assert run(2_000 * GB, combined(internet=False)).chosen_pairs == 0


def test_least_time_and_least_cost() -> None:
    assert run(objective=Objective(minimise="time")).chosen_pairs == 7
    assert run(objective=Objective(minimise="cost")).chosen_pairs == 0


def test_balanced_lies_between() -> None:
    found = run(20 * GB)
    assert 0 < found.chosen_pairs <= 7
    assert "knee" in found.reason


def test_budget_takes_the_best_within_it() -> None:
    rows = run().rows
    found = run(objective=Objective(minimise="time", max_cost_usd=rows[2].cost_usd + 1e-4))
    assert found.chosen_pairs == 2
    explicit = run(requested=5, objective=Objective(max_cost_usd=rows[2].cost_usd + 1e-4))
    assert explicit.chosen_pairs == 2
    assert "5 pairs were asked for" in explicit.reason


def test_budget_below_the_direct_path_is_refused() -> None:
    with pytest.raises(BudgetTooSmall, match=r"maxCostUsd: 0\.01 "):
        run(objective=Objective(max_cost_usd=0.01))


def test_deadline_takes_the_cheapest_that_meets_it() -> None:
    assert run(objective=Objective(deadline_seconds=40)).chosen_pairs == 2
    assert run(objective=Objective(deadline_seconds=1000)).chosen_pairs == 0


@pytest.mark.parametrize("requested", ["auto", 1])
def test_unreachable_deadline_is_refused_with_the_best(requested: Any) -> None:
    with pytest.raises(DeadlineUnreachable, match="deadlineSeconds: 5 cannot be met; the best is"):
        run(requested=requested, objective=Objective(deadline_seconds=5))


def test_pre_test_is_automatic_only_when_long() -> None:
    assert not run(2 * GB, requested=2).pre_test
    assert run(50 * GB, requested=2).pre_test
    assert not run(50 * GB, requested=0).pre_test
    assert run(GB, requested=1, pre_test=True).pre_test
    assert not run(50 * GB, requested=2, pre_test=False).pre_test


def test_pre_test_costs_time_and_money() -> None:
    plain, tested = run(requested=2).rows[2], run(requested=2, pre_test=True).rows[2]
    assert tested.seconds > plain.seconds
    assert tested.cost_usd > plain.cost_usd


rates = st.floats(0.5, 2000)


@given(st.integers(0, 10**14), rates, rates, rates, rates, st.floats(0, 300), st.integers(0, 8), st.floats(0, 60))
def test_no_row_is_slower_than_the_direct_one(
    size: int, source: float, destination: float, direct: float, pair: float, spawn: float, most: int, test: float
) -> None:
    used = Figures(source, destination, direct, pair, spawn, 0.1, 0.02, "assumed")
    rows = build_rows(size, most, used, test)
    assert all(row.seconds <= rows[0].seconds + 1e-3 for row in rows)
    assert all(row.cost_usd >= rows[0].cost_usd for row in rows)


def test_bandwidth_limit_caps_the_source_and_the_direct_path() -> None:
    ends = figures.Profile(100, 400, 10, "measured")
    found = figures.combine(ends, ends, ends, relay_hour_usd=1, egress_usd_per_gb=0, limit_mbps=80)
    assert (found.source, found.direct, found.destination, found.pair) == (10, 10, 400, 100)


def test_unknown_types_count_like_the_least_fixed_one() -> None:
    found = figures.published("x9.enormous", between_regions=True, internet=True)
    assert (found.inter_region, found.origin) == (93.75, "assumed")


def test_many_cores_may_use_half_their_bandwidth_through_an_internet_gateway() -> None:
    found = figures.published("c7gn.8xlarge", between_regions=True, internet=True)
    assert found.inter_region == 50 * 125
