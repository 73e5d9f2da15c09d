"""Relays between a machine and a bucket: one stage beside the machine, from where they dial S3."""

from dataclasses import replace
from typing import Any

import pytest

from lambdas.adapters.environment import RegionPath
from lambdas.core.ends.bucket import DestinationBucket
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.first_contact import Sight, with_first_sight, with_relays
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.estimation import estimate_again, estimate_for
from lambdas.operations.estimate.routing import ways_of
from tests.lambdas.buckets import bucket, from_bucket, from_many_to_bucket, to_bucket
from tests.lambdas.builders import DESTINATION_ID, IRELAND, WEST, profile, survey, transfer
from tests.lambdas.cloud import Cloud

GB = 10**9
MACHINE, RELAY, ARM = "c6in.4xlarge", "c6in.large", "c7gn.large"
# c6in.4xlarge: 16 vCPUs, so half of the processors hash 4 800 MB/s; 25 Gbps are 3 125 MB/s; another region sees half.
FACTS = TypeFacts(MACHINE, 16, "x86_64", 25.0, 25.0, 2_500.0, 2_500.0, False, frozenset({f"{WEST}a", f"{IRELAND}a"}))
RELAYS = TypeFacts(RELAY, 2, "x86_64", 3.125, 25.0, 300.0, 300.0, False, frozenset({f"{WEST}a", f"{IRELAND}a"}))


def cloud(pair: str, *, direct: float = 400.0, relay: float = 300.0, inside: float = 3_000.0) -> Cloud:
    """Machines whose direct way to S3 and relays were measured, MB/s; `pair`: the key of their profiles."""
    found = Cloud(instance_types=(RELAY,))
    for region in (WEST, IRELAND):
        found.instance_types[region].known |= {MACHINE: FACTS, RELAY: RELAYS}
    found.profiles.profiles[MACHINE, pair] = profile(direct, 3_000, 5)
    found.profiles.profiles[RELAY, pair] = profile(relay, inside, 90)
    return found


def on(accepted: AcceptedTransfer) -> AcceptedTransfer:
    """The transfer on machines of that type."""
    seats = {
        side: [
            seat.model_copy(update={"machine": seat.machine.model_copy(update={"instance_type": MACHINE})})
            for seat in getattr(accepted, side)
        ]
        for side in ("senders", "receivers")
    }
    return accepted.model_copy(update=seats)


def there(**changes: Any) -> AcceptedTransfer:
    return on(to_bucket(**changes))


def back(**changes: Any) -> AcceptedTransfer:
    """From a bucket in Oregon to the machine in Ireland."""
    source = {"kind": "bucket", "bucket": "near", "prefix": "", "region": WEST}
    accepted = transfer(source=source, **changes)
    return on(accepted.model_copy(update={"senders": from_bucket().senders}))


def found(accepted: AcceptedTransfer, size: int = 1_000 * GB, **rates: float) -> Estimate:
    return estimate_for(accepted, size, cloud(accepted.region_pair, **rates).world)


@pytest.mark.parametrize(("accepted", "region"), [(there, WEST), (back, IRELAND)])
def test_each_relay_brings_its_own_rate_beside_the_machine(accepted: Any, region: str) -> None:
    estimate = found(accepted(relays={"pairs": 2}))
    assert (estimate.chosen_pairs, estimate.reason) == (2, "2 relays were asked for")
    assert [row.pairs for row in estimate.rows] == list(range(9))
    (use,) = estimate.routes
    assert (use.regions, use.relays, use.stage) == ([region], [2], 0)
    assert estimate.row(2).limit == "paths: 400.0 direct + 600.0 = 1000.0 MB/s"
    assert estimate.row(0).seconds == pytest.approx(1_000_000 / 400)
    # 90 s of the direct way alone, then all three.
    assert estimate.row(2).seconds == pytest.approx(90 + (1_000_000 - 90 * 400) / 1000, rel=0.02)
    assert {price.region for price in estimate.relay_prices or []} == {region}
    assert len(estimate.figures.relay_hours or []) == 1


def test_the_number_is_chosen_where_nobody_asks_for_one() -> None:
    estimate = found(there(objective={"minimise": "time"}))
    assert estimate.chosen_pairs > 1
    assert estimate.reason.startswith(f"{estimate.chosen_pairs} relays take the least time")
    assert "pair" not in estimate.reason
    assert not any(row.pre_test for row in estimate.rows)


def test_all_together_are_bounded_by_what_the_machine_moves() -> None:
    """Of 3 000 MB/s that it sends, 9 ways of 400 and 8 times 600 MB/s would be 5 200."""
    estimate = found(there(relays={"pairs": 8}), relay=600.0)
    assert estimate.row(8).limit.startswith("the source machine sends at most 3")


def test_a_relay_carries_no_more_than_it_takes_from_the_machine() -> None:
    assert found(there(relays={"pairs": 1}), relay=600.0, inside=250.0).figures.pair.value == 250.0


def test_s3_holds_each_way_down_and_not_their_sum() -> None:
    """A relay that may send 3 125 MB/s out of its region has 16 requests of 85 MB/s; two have 32."""
    wide = replace(RELAYS, vcpus=32, baseline_gbps=50.0, peak_gbps=50.0)
    accepted = there(relays={"pairs": 2})
    near = cloud(accepted.region_pair, direct=2_000.0)
    del near.profiles.profiles[RELAY, accepted.region_pair]
    near.instance_types[WEST].known |= {RELAY: wide, MACHINE: replace(FACTS, baseline_gbps=50.0, peak_gbps=50.0)}
    figures = estimate_for(accepted, 1_000 * GB, near.world).figures
    assert figures.direct.value == 2_000.0, "what was measured has shown what S3 serves"
    assert (figures.pair.now, figures.pair.most) == (1_360.0, 1_360.0)
    assert figures.store is not None
    assert figures.store.value == 9 * 1_360.0


def test_inside_a_region_s3_serves_what_it_was_seen_to_serve() -> None:
    row = found(on(from_bucket()), direct=2_000.0).row(0)
    assert row.seconds == pytest.approx(1_000_000 / 2_000)


def test_a_direct_way_that_nobody_measured_is_held_down_by_s3() -> None:
    accepted = there(relays={"pairs": 0})
    near = cloud(accepted.region_pair)
    near.profiles.profiles.clear()
    near.instance_types[WEST].known[MACHINE] = replace(FACTS, vcpus=64, baseline_gbps=50.0, peak_gbps=50.0)
    row = estimate_for(accepted, 1_000 * GB, near.world).row(0)
    assert row.seconds_low == pytest.approx(1_000_000 / 1_360.0)


@pytest.mark.parametrize("path", ["internet", "peering", "transit-gateway"])
def test_what_joins_the_vpcs_does_not_lead_to_s3(path: RegionPath) -> None:
    """Behind an internet gateway a small machine sends 5 Gbit/s, a relay has an address, and no gateway is paid."""
    accepted = there(relays={"pairs": 1})
    near = cloud(accepted.region_pair)
    near.profiles.profiles.clear()
    world = replace(near.world, env=replace(near.world.env, inter_region_path=path))
    found = estimate_for(accepted, 1_000 * GB, world)
    assert found.figures.direct.most == 625.0
    assert found.figures.gateway is None
    assert found.figures.hour_usd(0) == pytest.approx(0.1134 + 0.005 + 8 * 0.08 / 730)


def test_a_limit_of_the_request_holds_all_ways_together() -> None:
    """800 Mbps are 100 MB/s, of what is read of S3 too."""
    for accepted in (there, back):
        estimate = found(accepted(relays={"pairs": 2}, bandwidthLimitMbps=800))
        assert {row.seconds for row in estimate.rows} == {10_000.0}


def test_quota_of_vcpus_counts_one_relay_for_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = there(relays={"pairs": 8})
    near = cloud(accepted.region_pair)
    monkeypatch.setattr(near.compute[WEST], "running", list)
    near.quotas[WEST].limits = {"on-demand": 6.0, "spot": 6.0}
    estimate = estimate_for(accepted, 1_000 * GB, near.world)
    assert estimate.chosen_pairs == 3
    assert estimate.reason == "8 relays were asked for; the quota of vCPUs leaves 3"


def test_relays_of_several_machines_join_all_of_their_direct_ways() -> None:
    accepted = on(from_many_to_bucket(2))
    estimate = found(accepted, relay=300.0)
    assert estimate.figures.direct.value == 800.0
    assert estimate.row(2).limit.startswith("paths: 800.0 direct + 600.0 ")
    # Each machine counts once, though it has two seats.
    row = estimate.row(0)
    assert row.energy_wh == pytest.approx(2 * 202.5 * row.seconds / 3600, rel=1e-4)


@pytest.mark.parametrize("asked", ["auto", 2])
def test_inside_a_region_relays_bring_nothing(asked: Any) -> None:
    estimate = found(on(from_bucket(relays={"pairs": asked})))
    assert (estimate.chosen_pairs, [row.pairs for row in estimate.rows]) == (0, [0])
    assert estimate.reason.endswith(
        "bucket and machine are in one region, where no border holds the machine back: relays bring nothing"
    )
    assert estimate.reason.startswith("2 relays were asked for, not used: ") == (asked == 2)
    assert {one.reason for one in estimate.candidates} == {estimate.reason}
    assert estimate.on_the_way is None
    assert not any("quota" in note for note in estimate.notes)


def test_what_leaves_a_region_is_paid_once_and_relays_by_their_hours() -> None:
    estimate = found(there(relays={"pairs": 2}))
    rows, figures = estimate.rows, estimate.figures
    egress = 1_000 * figures.egress.value * figures.sent_share
    for row in rows:
        hours = row.pairs * figures.hour_usd(0) * (row.seconds + figures.tail_seconds) / 3600
        assert figures.requests is not None
        beside = row.cost_usd - egress - hours - figures.requests.value
        # 59 605 parts of 16 MiB, each of which is written 2.2 times.
        assert 0 < beside < 0.1, "the control plane"
    prices = figures.relay_hours or []
    assert "address and disk" in prices[0].note


def test_a_budget_bears_the_relays_that_are_chosen() -> None:
    asked = found(there(relays={"pairs": 3}))
    least = needed(asked.row(2), asked.figures) + 1e-6
    estimate = found(there(relays={"pairs": 3}, objective={"maxCostUsd": least, "minimise": "time"}))
    assert estimate.chosen_pairs == 2
    assert estimate.reason.startswith("3 relays were asked for; 2 fit into")


def test_nothing_is_asked_of_the_region_of_the_bucket() -> None:
    """It need not be enrolled, so that neither a daemon nor a price of relays lies there."""
    far = DestinationBucket.from_document(bucket(region="eu-north-1"))
    accepted = there(relays={"pairs": 2})
    accepted = accepted.model_copy(update={"request": accepted.request.model_copy(update={"destination": far})})
    estimate = found(accepted)
    assert estimate.chosen_pairs == 2
    assert not any(f"instance-hour of {RELAY} in eu-north-1" in note for note in estimate.notes)


def test_spot_relays_have_one_price_beside_it() -> None:
    near = cloud(f"{WEST}>s3:{IRELAND}")
    estimate = estimate_for(there(relays={"pairs": 1, "market": "spot"}), 1_000 * GB, near.world)
    (note,) = [note for note in estimate.notes if "no spot capacity" in note] or [estimate.reason]
    assert " and $" not in note


def test_it_is_estimated_again_after_a_person_has_answered() -> None:
    accepted = there(relays={"pairs": 2})
    near = cloud(accepted.region_pair)
    first = estimate_for(accepted, 1_000 * GB, near.world, survey(1, size=1_000 * GB, files=10))
    again = estimate_again(accepted, first, 60.0, near.world)
    assert (again.chosen_pairs, again.reason) == (2, "2 relays were asked for")
    assert again.row(2).seconds == pytest.approx(first.row(2).seconds, rel=0.01)


def test_the_first_seconds_decide_about_relays_of_which_nothing_is_known() -> None:
    accepted = there(objective={"minimise": "time"})
    near = cloud(accepted.region_pair)
    near.profiles.profiles.clear()
    assert estimate_for(accepted, 1_000 * GB, near.world).on_the_way
    seen = Sight(at=1_010.0, after=10.0, direct=100.0, total=100.0, pairs=0)
    decided = estimate_for(
        accepted, 1_000 * GB, near.world, adjusted=lambda ends, offers: with_first_sight(ends, offers, seen)
    )
    # As much as the direct way is expected of each relay, until one has served.
    assert decided.row(1).limit.startswith("paths: 100.0 direct + 100.0 = 200.0 MB/s")
    assert decided.chosen_pairs > 1
    assert "relays" in decided.reason
    assert decided.on_the_way == "what one of these relays carries was never measured"


def test_relays_that_have_shown_what_they_carry_are_joined_by_more() -> None:
    accepted = there(objective={"minimise": "time"})
    near = cloud(accepted.region_pair)
    near.profiles.profiles.clear()
    seen = Sight(at=1_200.0, after=200.0, direct=100.0, total=220.0, pairs=2)
    more = estimate_for(
        accepted,
        500 * GB,
        near.world,
        adjusted=lambda ends, offers: with_relays(ends, offers, seen, "free", RELAY),
        is_moving=True,
    )
    assert more.row(1).limit == "paths: 220.0 direct + 60.0 = 280.0 MB/s"
    assert (more.figures.pair.note, more.figures.direct.note) == (
        "2 relays of this transfer",
        "the direct path and 2 relays of this transfer",
    )


@pytest.mark.parametrize("accepted", [there, back])
def test_no_ways_are_planned_beside_them(accepted: Any) -> None:
    """Neither now nor while data moves: S3 is the only place where a relay sends to."""
    asked = accepted()
    near = cloud(asked.region_pair)
    estimate = estimate_for(asked, 1_000 * GB, near.world)
    assert ways_of(asked, estimate, near.world) is None
    assert all(row.planned == [] for row in estimate.rows)


def test_its_document_is_read_again() -> None:
    estimate = found(there(relays={"pairs": 2}))
    assert Estimate.from_document(estimate.to_document()).routes == estimate.routes
    assert DESTINATION_ID not in str(estimate.to_document())
