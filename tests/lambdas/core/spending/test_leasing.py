"""What a sender may still spend: everything that the budget bears, and nothing that relays will cost."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.estimate.budget import LATE_SECONDS, needed
from lambdas.core.fleet.membership import BudgetLease
from lambdas.core.request.request import Objective
from lambdas.core.spending.leasing import RELAYS_END_SECONDS, lease_of
from lambdas.core.spending.meter import Decision, Reading, control_dollars, decide
from lambdas.core.spending.sent import Sent
from tests.lambdas.builders import estimate, node

CASES: list[dict[str, Any]] = json.loads(Path("contracts/budget-lease.json").read_text())["cases"]
SIZE = 10**9
HOUR, EGRESS_GB = 0.1, 0.02  # as in builders.figures


def reading(pairs: int = 1, *, sent: int = 0, now: float = 1100.0) -> Reading:
    nodes = [node(stage, slot, state="JOINED") for slot in range(1, pairs + 1) for stage in (0, 1)]
    return Reading(now, nodes, estimate(max(pairs, 1)), 100, 1000.0, sent, SIZE, 40.0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_lease_bears_what_the_contract_says(case: dict[str, Any]) -> None:
    assert BudgetLease.from_document(case["lease"]).bears(case["sentBytes"], case["seconds"]) is case["bears"]


def test_what_is_spent_and_what_relays_cost_until_they_have_ended_is_not_granted() -> None:
    found = reading(2)
    lease = lease_of(found, 1.0, 1, Sent())
    relays = 4 * RELAYS_END_SECONDS * HOUR / 3600
    late = found.after(LATE_SECONDS, 0.0).control_plane - found.spent().control_plane
    assert lease.usd == pytest.approx(1.0 - found.spent().total - relays - late)
    assert lease.usd_per_gb == pytest.approx(EGRESS_GB)
    assert lease.usd_per_hour == pytest.approx(4 * HOUR, rel=0.05)


def test_traffic_between_zones_uses_it_up_as_well() -> None:
    assert lease_of(replace(reading(), zone_usd_per_gb=0.04), 1.0, 1, Sent()).usd_per_gb == pytest.approx(0.06)


def test_bytes_that_the_start_has_reported_are_paid_for_and_those_of_an_earlier_start_are_not_its_own() -> None:
    sent = Sent(start=2, start_bytes=300, earlier_bytes=500)
    assert lease_of(reading(sent=800), 1.0, 2, sent).sent_bytes == 300
    assert lease_of(reading(sent=800), 1.0, 3, sent).sent_bytes == 0


def test_a_budget_that_is_used_up_grants_nothing_and_what_an_earlier_look_found_stays_spent() -> None:
    assert lease_of(reading(), 0.001, 1, Sent()).usd == 0
    more = lease_of(reading(), 1.0, 1, Sent(), spent_usd=reading().spent().total + 0.3)
    assert more.usd == pytest.approx(lease_of(reading(), 1.0, 1, Sent()).usd - 0.3)


@pytest.mark.parametrize("on_budget", ["direct", "stop"])
@pytest.mark.parametrize("pairs", [0, 1, 4])
@given(most=st.floats(0.002, 0.1), left=st.integers(1, 10**10), rate=st.floats(0.01, 200))
def test_whoever_may_go_on_gets_a_chunk_at_least(
    pairs: int, on_budget: str, most: float, left: int, rate: float
) -> None:
    """Else a sender would pause, and no look would ever end that."""
    nodes = reading(pairs).nodes if pairs else []
    for limit in (0.01, None):
        found = Reading(1100.0, nodes, estimate(pairs), 100, None, 0, left, rate, limit=limit, chunk_bytes=64 * 10**6)
        found = replace(found, rate=min(rate, limit or rate))
        if decide(found, Objective.from_document({"maxCostUsd": most, "onBudget": on_budget})) is Decision.GO_ON:
            assert lease_of(found, most, 1, Sent()).bears(min(left, found.chunk_bytes), 0.0)


def test_nothing_is_granted_before_the_prices_are_known() -> None:
    assert lease_of(replace(reading(), estimate=None), 1.0, 1, Sent()).usd == 0


@pytest.mark.parametrize("pairs", [0, 1, 4])
def test_a_budget_that_was_accepted_bears_all_that_goes_as_estimated(pairs: int) -> None:
    known = estimate(pairs)
    row = next(row for row in known.rows if row.pairs == pairs)
    nodes = [node(stage, slot, requested_at=1000.0) for slot in range(1, pairs + 1) for stage in (0, 1)]
    start = Reading(1000.0, nodes, known, 100, None, 0, known.bytes, 0.0)
    # The builder's rows are without the control plane.
    most = needed(row, known.figures) + control_dollars(100, nodes, row.seconds, known)
    lease = lease_of(start, most, 1, Sent())
    assert lease.bears(known.bytes, row.seconds)
