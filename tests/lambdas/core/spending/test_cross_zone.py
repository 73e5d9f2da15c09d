import pytest

from lambdas.core.estimate.budget import needed
from lambdas.core.fleet.topology import Route, Stage
from lambdas.core.places.machines import ExistingRelay
from lambdas.core.request.request import Objective
from lambdas.core.spending import cross_zone
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas.buckets import bucket, from_bucket, from_many_to_bucket, to_bucket
from tests.lambdas.builders import IRELAND, WEST, estimate, figures, node, transfer, with_machine


def limited(dollars: float) -> AcceptedTransfer:
    accepted = transfer()
    request = accepted.request.model_copy(update={"objective": Objective(max_cost_usd=dollars)})
    return accepted.model_copy(update={"request": request})


def far_bucket() -> AcceptedTransfer:
    """From a bucket in the West to the machine in Ireland."""
    accepted = transfer(source=bucket(region=WEST))
    return accepted.model_copy(update={"senders": from_bucket().senders})


def between_zones(zone: str = "us-west-2b", vpc_id: str = "vpc-source") -> AcceptedTransfer:
    """A transfer inside one region, to a machine in another zone."""
    accepted = transfer()
    changes = {"region": "us-west-2", "availability_zone": zone, "vpc_id": vpc_id}
    return with_machine(accepted, "r0", **changes)


def test_bytes_through_a_relay_in_another_zone_are_charged_on_both_sides_of_the_border() -> None:
    nodes = [
        node("source", 1, availability_zone="us-west-2b"),
        node("destination", 1),
        node("source", 2),
        node("destination", 2, availability_zone="eu-west-1c"),
    ]
    through = {"direct": 7e9, "pair-1": 1e9, "pair-2": 2e9, "pair-1-2": 4e9}
    # pair-1 on one side, pair-2 on one, the mesh's path on both: 1 + 2 + 2 * 4 of the 14 GB that the meter counts
    # on both sides.
    assert cross_zone.per_gb(transfer(), nodes) == pytest.approx(2 * 0.02)
    assert cross_zone.share(transfer(), nodes, through) == pytest.approx((1 + 2 + 8) / (14 * 2))


def test_where_no_path_is_known_all_that_the_meter_counted_is_due() -> None:
    assert cross_zone.share(transfer(), [node("source", 1, availability_zone="us-west-2b")], {}) == 1.0


def test_relays_beside_their_ends_cost_nothing_for_zones() -> None:
    assert cross_zone.per_gb(transfer(), [node("source", 1), node("destination", 1)]) == 0


def test_between_two_zones_of_one_region_the_direct_path_costs_too() -> None:
    assert cross_zone.direct_gb(transfer()) == 0
    assert cross_zone.direct_gb(between_zones("us-west-2a")) == 0
    assert cross_zone.direct_gb(between_zones()) == pytest.approx(0.02)
    # Relays beside their ends cross the same border once; those elsewhere at every hop.
    beside = [node("source", 1), node("destination", 1, region="us-west-2", availability_zone="us-west-2b")]
    assert cross_zone.per_gb(between_zones(), beside) == pytest.approx(0.02)
    away = [
        node("source", 1, availability_zone="us-west-2c"),
        node("destination", 1, region="us-west-2", availability_zone="us-west-2d"),
    ]
    assert cross_zone.per_gb(between_zones(), away) == pytest.approx(3 * 0.02)
    assert cross_zone.share(between_zones(), away, {"direct": 1e9, "pair-1": 2e9}) == pytest.approx((1 + 6) / 9)
    assert cross_zone.surcharge(between_zones(), 10**9) == pytest.approx(2 * 0.02)


@pytest.mark.parametrize(("accepted", "region"), [(to_bucket(), WEST), (far_bucket(), IRELAND)])
def test_beside_a_bucket_a_relay_elsewhere_costs_the_one_hop_to_the_machine(
    accepted: AcceptedTransfer, region: str
) -> None:
    """S3 is in no zone: what the relay exchanges with it is charged as what leaves the region, and by nothing else."""
    machine = accepted.at_source
    (stage,) = (Stage(0, "beside", machine.region, machine.vpc_id, 1, machine),)
    route = Route(machine, (stage,), machine)
    assert machine.region == region
    assert cross_zone.way_gb(accepted, route, {}) == 0
    assert cross_zone.way_gb(accepted, route, {0: {f"{region}a"}}) == 0
    assert cross_zone.way_gb(accepted, route, {0: {f"{region}b"}}) == pytest.approx(0.02)
    assert cross_zone.direct_gb(accepted) == 0
    assert cross_zone.figures(accepted) == (None, None)


def test_machines_of_the_user_in_other_zones_are_in_the_rows_with_relays() -> None:
    lent = ExistingRelay(
        **{**dict(transfer().at_source), "instance_id": "i-0cccccccccccccccc", "availability_zone": "us-west-2c"},
        stage=0,
    )
    direct, relayed = cross_zone.figures(transfer().model_copy(update={"existing": [lent]}))
    assert direct is None
    assert relayed is not None
    used = figures().model_copy(update={"relay_cross_zone": relayed})
    assert [used.gb_usd(pairs) for pairs in (0, 1)] == pytest.approx([0.02, 0.04])


def test_other_zones_need_room_in_the_budget_for_all_bytes_on_both_sides() -> None:
    wanted = estimate(2, size=10**9)
    room = needed(wanted.row(2), wanted.figures) + 2 * 2 * 0.01  # 1 GB, both sides, out and in
    assert cross_zone.above_budget(transfer(), wanted) == ""
    assert cross_zone.above_budget(limited(room + 1e-9), wanted) == ""
    assert "$0.0400 more" in cross_zone.above_budget(limited(room - 1e-9), wanted)


def test_the_meter_counts_as_if_all_went_through_the_relays_elsewhere() -> None:
    away, beside = node("source", 1, availability_zone="us-west-2b"), node("destination", 1)
    assert cross_zone.per_gb(transfer(), [beside]) == 0
    assert cross_zone.per_gb(transfer(), [away, beside]) == pytest.approx(0.02)


def test_an_estimate_says_what_other_zones_would_cost() -> None:
    assert "$0.02 per GB between end and relay, $0.4000 at most" in cross_zone.note(transfer(), 10**10)


@pytest.mark.parametrize("accepted", [to_bucket(), from_bucket(), from_many_to_bucket()])
def test_relays_to_a_bucket_add_one_hop_at_most_and_the_machine_itself_none(accepted: AcceptedTransfer) -> None:
    assert cross_zone.direct_gb(accepted) == 0
    assert cross_zone.surcharge(accepted, 10**9) == pytest.approx(0.02)
