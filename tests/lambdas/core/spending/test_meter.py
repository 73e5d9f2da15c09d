"""The meter against a simulated transfer that knows nothing of it: whatever happens, the bill is within the budget."""

from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.estimate.budget import (
    FLIGHT_SECONDS,
    HELD_SECONDS,
    LOOK_SECONDS,
    held_back,
)
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.pair_use import pair_uses
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.request.request import Objective
from lambdas.core.spending.leasing import lease_of
from lambdas.core.spending.meter import Decision, Reading, Spent, affordable, control_dollars, decide
from lambdas.core.spending.sent import Sent
from lambdas.core.tariff import cost
from lambdas.core.tariff.prices import PriceBook
from tests.lambdas.builders import estimate, figures, node

SIZE = 10**9
# Some minutes at the rates below, so that the meter looks several times.
LONG = 6 * 10**9
HOUR, EGRESS_GB, DIRECT, PAIR, ENDS = 0.1, 0.02, 20.0, 20.0, 160.0  # as in builders.figures


def reading(pairs: int = 1, *, left: int = SIZE, rate: float = 40.0, sent: int = 0, now: float = 1100.0) -> Reading:
    nodes = [node(stage, slot, state="JOINED") for slot in range(1, pairs + 1) for stage in (0, 1)]
    return Reading(now, nodes, estimate(max(pairs, 1)), 100, 1000.0, sent, left, rate)


def held(pairs: int) -> float:
    return held_back(pairs, pair_uses(pairs, figures()), figures(), pre_test=False)


def decided(found: Reading, most: float, on_budget: str = "direct", *, releases: bool = True) -> Decision:
    return decide(found, Objective.from_document({"maxCostUsd": most, "onBudget": on_budget}), releases=releases)


def test_spent_is_relays_since_their_request_egress_and_control_plane() -> None:
    found = reading(2, sent=3 * 10**9)
    spent = found.spent()
    assert spent.relays == pytest.approx(4 * 100 * HOUR / 3600)
    assert spent.egress == pytest.approx(3 * EGRESS_GB)
    assert spent.control_plane == control_dollars(100, found.nodes, 100.0, estimate(2))
    assert spent.total == pytest.approx(spent.relays + spent.egress + spent.control_plane)


def test_traffic_between_zones_is_money_too() -> None:
    found = replace(reading(1, sent=3 * 10**9), zone_usd_per_gb=0.04)
    assert found.spent().cross_zone == pytest.approx(3 * 0.04)
    assert found.spent().total == pytest.approx(reading(1, sent=3 * 10**9).spent().total + 0.12)


def charged(found: Reading, **changes: Any) -> Reading:
    """The reading where file systems charge $0.03 to $0.09 for each GB."""
    price = Figure(value=0.09, low=0.03, origin="assumed", note="test")
    known = estimate(1)
    figures = known.figures.model_copy(update={"file_systems": price})
    return replace(found, estimate=known.model_copy(update={"figures": figures}), **changes)


def test_what_file_systems_charge_at_most_is_money_too_and_probes_are_read_from_none() -> None:
    plain = reading(1, sent=3 * 10**9)
    found = charged(plain, moved_bytes=2 * 10**9)
    assert found.spent().file_systems == pytest.approx(2 * 0.09)
    assert found.spent().total == pytest.approx(plain.spent().total + 0.18)
    assert plain.spent().file_systems == 0


def test_a_budget_holds_back_what_file_systems_charge_until_the_next_look() -> None:
    plain = reading(1, left=LONG)
    found = charged(plain)
    more = 40.0 * LOOK_SECONDS / 1000 * 0.09
    assert found.until_next_look().total == pytest.approx(plain.until_next_look().total + more)
    rest = LONG / 1e9 * 0.09 + 40.0 * FLIGHT_SECONDS / 1000 * 0.09
    assert found.released_next_time().total == pytest.approx(plain.released_next_time().total + rest)


def test_where_a_byte_on_the_wire_may_stand_for_any_number_all_that_is_left_is_held_back() -> None:
    found = charged(reading(1, left=LONG), may_save=True, moved_bytes=10**9)
    in_flight = 40.0 * FLIGHT_SECONDS / 1000
    assert found.spent().file_systems == pytest.approx(0.09)
    assert found.until_next_look().file_systems == pytest.approx((1 + 6 + in_flight) * 0.09)


def test_a_lease_pays_file_systems_for_each_gb_or_all_at_once() -> None:
    plain, found = reading(1, left=LONG), charged(reading(1, left=LONG))
    leases = [lease_of(one, 10.0, 1, Sent()) for one in (plain, found, replace(found, may_save=True))]
    assert leases[1].usd_per_gb == pytest.approx(leases[0].usd_per_gb + 0.09)
    assert leases[2].usd_per_gb == pytest.approx(leases[0].usd_per_gb)
    held = (6 + 40.0 * FLIGHT_SECONDS / 1000) * 0.09
    assert leases[0].usd - leases[2].usd == pytest.approx(held)
    assert leases[2].usd_per_hour == pytest.approx(leases[0].usd_per_hour)


def test_relay_that_is_on_demand_where_spot_was_asked_for_counts_as_what_it_is() -> None:
    spot, fallen_back = node(market="spot"), node()
    found = Reading(1100.0, [spot], estimate(), market="spot")
    assert found.spent().relays == pytest.approx(100 * HOUR / 3600)
    beside = PriceBook().beside_instance_hour("t3.small", "us-west-2", public=True)
    assert replace(found, nodes=[fallen_back]).spent().relays == pytest.approx(100 * (0.0208 + beside) / 3600)


def test_each_relay_is_paid_for_a_minute_at_least_and_no_longer_once_it_has_ended() -> None:
    young, ended = node(requested_at=1090.0), node(slot=2, ended_at=1070.0)
    assert Reading(1100.0, [young], estimate()).spent().relays == pytest.approx(60 * HOUR / 3600)
    assert Reading(9999.0, [ended], estimate()).spent().relays == pytest.approx(70 * HOUR / 3600)


def test_without_a_budget_everything_goes_on_and_everything_is_affordable() -> None:
    assert decide(reading(sent=10**15), Objective()) is Decision.GO_ON
    assert affordable(reading(), Objective(), 16) == 16


def test_relays_are_released_while_the_rest_still_fits_on_the_direct_path() -> None:
    found = reading(4)
    enough = found.released_next_time().total
    assert decided(found, enough + 1e-9) is Decision.GO_ON
    assert decided(found, enough - 1e-9) is Decision.RELEASE_FLEET
    assert decided(found, found.released_now().total - 1e-9) is Decision.STOP


def test_who_asked_for_stop_keeps_the_relays_to_the_end() -> None:
    found = reading(4, left=100 * SIZE)
    assert decided(found, found.released_next_time().total - 1e-9, "stop") is Decision.GO_ON
    assert decided(found, found.until_next_look().total - 1e-9, "stop") is Decision.STOP


def test_the_direct_path_alone_and_what_only_measures_can_but_stop() -> None:
    alone = reading(0, rate=DIRECT)
    assert decided(alone, alone.until_next_look().total + 1e-9) is Decision.GO_ON
    assert decided(alone, alone.until_next_look().total - 1e-9) is Decision.STOP
    measuring = reading(2, left=0, rate=0.0)
    assert decided(measuring, measuring.until_next_look().total - 1e-9, releases=False) is Decision.STOP


def test_before_the_next_look_no_more_can_leave_than_is_left() -> None:
    in_flight = 40.0 * FLIGHT_SECONDS / 1e3
    assert reading(1, left=10**8).until_next_look().egress == pytest.approx((0.1 + in_flight) * EGRESS_GB)
    assert reading(1, left=0).until_next_look().egress == 0
    assert reading(1, left=10**11).until_next_look().egress == pytest.approx(40.0 * LOOK_SECONDS / 1e3 * EGRESS_GB)


def test_relays_that_may_join_before_the_next_look_count_as_if_they_had() -> None:
    assert reading(3, rate=20.0).fleet_rate == DIRECT + 3 * PAIR
    assert reading(20, rate=20.0).fleet_rate == ENDS
    assert reading(0, rate=33.0).fleet_rate == 33.0


def test_launches_are_affordable_as_far_as_the_budget_bears_them_until_they_can_be_released() -> None:
    found = reading(1)
    each = HELD_SECONDS * HOUR / 3600
    objective = Objective(max_cost_usd=found.released_next_time().total + 2.5 * each)
    assert affordable(found, objective, 8) == 2
    assert affordable(found, objective, 1) == 1
    assert affordable(found, Objective(max_cost_usd=0.001), 8) == 0


def test_a_choice_within_its_budget_is_never_cut_short_if_all_goes_as_estimated() -> None:
    pairs, seconds = 3, 500.0
    most = cost.transfer(SIZE, pairs, seconds, HOUR, EGRESS_GB) + held_back(
        pairs, pair_uses(pairs, figures()), figures(), pre_test=False
    )
    for on_budget in ("direct", "stop"):
        for second in range(0, int(seconds), 10):
            sent = round(SIZE * second / seconds)
            found = reading(pairs, left=SIZE - sent, sent=sent, rate=2.0, now=1000.0 + second)
            control = found.after(LOOK_SECONDS + (SIZE - sent) / DIRECT / 1e6, 0.0).control_plane
            assert decided(found, most + control, on_budget) is Decision.GO_ON


def test_bytes_of_a_sender_that_started_over_are_added_to_those_before() -> None:
    sent = Sent().after(1, 500).after(1, 400).after(2, 30)
    assert (sent.bytes, sent.start) == (530, 2)
    assert sent.after(1, 900) == sent
    assert sent.after(2, 40).bytes == 540


def test_money_that_was_spent_stays_spent() -> None:
    more = Spent.of(reading(2, sent=SIZE).spent(), 1100.0, Sent())
    less = Spent.of(reading(1).spent(), 1160.0, Sent())
    assert less.not_below(more).total == pytest.approx(more.relays + more.egress + more.control_plane)
    assert less.not_below(None) == less


def test_requests_of_the_control_plane_are_those_of_the_relays_whatever_a_pair_is() -> None:
    """As the rows of an estimate count them: two relays are a pair's, also where each is a pair of its own."""
    pairs = [node(stage, slot) for slot in (1, 2) for stage in (0, 1)]
    beside_bucket = [node(0, slot) for slot in (1, 2, 3, 4)]
    assert control_dollars(0, beside_bucket, 60.0, estimate()) == control_dollars(0, pairs, 60.0, estimate())
    successor = node(0, 4, generation=1)
    assert control_dollars(0, [*beside_bucket, successor], 60.0, estimate()) == control_dollars(
        0, beside_bucket, 60.0, estimate()
    )


def leased(found: Reading, usd_per_gb: float = 0.5) -> Reading:
    """The reading where its relays are leases in a pool that costs so much through both sides."""
    sides = dict.fromkeys(("us-west-2", "eu-west-1"), usd_per_gb / 2)
    price = PoolPrice(at=1000.0, sides=sides, use=0.5, relays=2, rate=40.0, node_mb_s=100.0, a=3.0, c=1.2)
    nodes = [one.model_copy(update={"provider": "pool"}) for one in found.nodes]
    return replace(found, nodes=nodes, pool_price=price)


def test_leases_cost_by_what_was_sent_and_no_hour() -> None:
    found = leased(reading(2, sent=3 * 10**9))
    assert found.spent().relays == 0.0
    assert found.spent().pool == pytest.approx(3 * 0.5)
    assert found.spent().total == pytest.approx(sum(found.spent()))
    assert Spent.of(found.spent(), 1100.0, Sent()).not_below(None).pool == pytest.approx(1.5)


def test_the_pool_is_left_while_the_budget_still_bears_what_passes_until_the_next_look() -> None:
    found = leased(reading(1, left=LONG, sent=10**9))
    # 75 s at 40 MB/s are 3 GB, which cost $1.50 beside the $0.50 that are spent.
    assert decided(found, 10.0) is Decision.GO_ON
    assert decided(found, found.until_next_look().total - 0.01) is not Decision.GO_ON
    assert found.until_next_look().pool == pytest.approx(0.5 * (1 + 0.04 * LOOK_SECONDS), rel=0.05)


def test_a_sender_s_lease_reserves_what_the_pool_takes_of_each_gb() -> None:
    plain, found = reading(1), leased(reading(1))
    assert lease_of(found, 10.0, 1, Sent()).usd_per_gb == pytest.approx(
        lease_of(plain, 10.0, 1, Sent()).usd_per_gb + 0.5
    )


def test_what_was_sent_before_the_first_lease_costs_nothing_of_the_pool() -> None:
    found = replace(leased(reading(1, sent=3 * 10**9)), unpooled_bytes=2 * 10**9)
    assert found.spent().pool == pytest.approx(0.5)
    assert replace(found, unpooled_bytes=4 * 10**9).spent().pool == 0.0, "a later count of less is no credit"
