import pytest

from lambdas.core.estimate.budget import needed
from lambdas.core.request import Objective
from lambdas.core.spending import cross_zone
from lambdas.core.transfer import AcceptedTransfer
from tests.lambdas.builders import estimate, node, transfer


def limited(dollars: float) -> AcceptedTransfer:
    accepted = transfer()
    request = accepted.request.model_copy(update={"objective": Objective(max_cost_usd=dollars)})
    return accepted.model_copy(update={"request": request})


def test_bytes_through_a_relay_in_another_zone_are_charged_on_both_sides_of_the_border() -> None:
    nodes = [
        node("source", 1, availability_zone="us-west-2b"),
        node("destination", 1),
        node("source", 2),
        node("destination", 2, availability_zone="eu-west-1c"),
    ]
    through = {"direct": 7e9, "pair-1": 1e9, "pair-2": 2e9, "pair-1-2": 4e9}
    # pair-1 on one side, pair-2 on one, the mesh's path on both: 1 + 2 + 2 * 4 GB, twice $0.01 each.
    assert cross_zone.spent(transfer(), nodes, through) == pytest.approx((1 + 2 + 8) * 0.02)


def test_relays_beside_their_ends_cost_nothing_for_zones() -> None:
    assert cross_zone.spent(transfer(), [node("source", 1), node("destination", 1)], {"pair-1": 1e9}) == 0


def test_other_zones_need_room_in_the_budget_for_all_bytes_on_both_sides() -> None:
    wanted = estimate(2, size=10**9)
    room = needed(wanted.row(2), wanted.figures, pre_test=False) + 2 * 2 * 0.01  # 1 GB, both sides, out and in
    assert cross_zone.above_budget(transfer(), wanted) == ""
    assert cross_zone.above_budget(limited(room + 1e-9), wanted) == ""
    assert "$0.0400 more" in cross_zone.above_budget(limited(room - 1e-9), wanted)


def test_the_meter_counts_as_if_all_went_through_the_relays_elsewhere() -> None:
    away, beside = node("source", 1, availability_zone="us-west-2b"), node("destination", 1)
    assert cross_zone.per_gb(transfer(), [beside]) == 0
    assert cross_zone.per_gb(transfer(), [away, beside]) == pytest.approx(0.02)


def test_an_estimate_says_what_other_zones_would_cost() -> None:
    assert "$0.02 per GB between end and relay, $0.4000 at most" in cross_zone.note(transfer(), 10**10)
