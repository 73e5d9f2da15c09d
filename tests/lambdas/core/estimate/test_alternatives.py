"""When not to use relays: what else would do, for how many seconds and dollars."""

from typing import Any

import pytest

from lambdas.core.estimate import published_limits
from lambdas.core.estimate.alternative import Alternative
from lambdas.core.estimate.alternatives import Ends, LargerEnd, alternatives
from lambdas.core.estimate.end_limits import CHECKSUM_GAIN
from lambdas.core.estimate.estimate import Estimate, estimate
from lambdas.core.estimate.figures import EndFigures
from lambdas.core.request.request import Objective
from lambdas.core.tariff.instance_types import TypeFacts, larger_types
from tests.lambdas.builders import figure
from tests.lambdas.core.estimate.test_estimate import GB, offer

WIDE, WIDER = "c6in.4xlarge", "c6in.8xlarge"


def facts(kind: str, gbps: float, vcpus: int, peak: float | None = None) -> TypeFacts:
    return TypeFacts(kind, vcpus, "x86_64", gbps, peak or gbps, 0.0, 0.0, False, frozenset({"us-west-2a"}))


# 25 Gbit/s of which an internet gateway passes 5; from 32 vCPUs on it passes half of 50.
FACTS, LARGER = facts(WIDE, 25.0, 16), facts(WIDER, 50.0, 32)


def ends(larger: float | None = None, **changes: Any) -> Ends:
    step = () if larger is None else (LargerEnd(LARGER, larger),)
    return Ends(**{"facts": (FACTS, FACTS), "larger": (step, step), "through": "internet", "peerable": True, **changes})


def published(size: int = 1000 * GB, gateway: float = 0.0, **changes: Any) -> Estimate:
    """As AWS publishes the two machines, with relays of 5 Gbit/s."""
    total = published_limits.in_all(FACTS, WIDE)
    direct = published_limits.outward(FACTS, WIDE, between_regions=True, internet=True)
    known = {"source": total, "destination": total, "direct": direct, "egress": figure(0.02), **changes}
    using = EndFigures.model_validate({**known, "gateway": figure(gateway) if gateway else None}, by_name=True)
    return estimate(
        size, using, [offer("c6in.large", 625.0, 0.13, spawn=figure(60.0))], requested="auto", pre_test=False,
        objective=Objective(), most_pairs=16, pre_test_seconds=10.0, notes=[],
    )  # fmt: skip


def told(found: Estimate, of: Ends, kind: str) -> list[Alternative]:
    return [one for one in alternatives(found, of, 10.0) if one.kind == kind]


def test_peering_passes_what_both_machines_have_and_costs_no_relays() -> None:
    found = published()
    (one,) = told(found, ends(), "peering")
    # 25 Gbit/s are 3125 MB/s.
    assert one.seconds == pytest.approx(320.0)
    assert one.seconds < found.chosen.seconds
    assert one.cost_usd == pytest.approx(20.0, abs=0.05)
    assert one.cost_usd < found.chosen.cost_usd
    assert one.cost_and_time_usd == pytest.approx(one.cost_usd + 320.0 / 360, abs=1e-4)
    assert "internet gateway passes 5 Gbit/s" in one.note


def test_peering_is_no_advice_where_it_is_there_or_the_direct_path_is_not_held_back() -> None:
    assert told(published(), ends(through="peering"), "peering") == []
    assert told(published(), ends(peerable=False), "peering") == []
    assert told(published(direct=figure(3125.0, "measured")), ends(), "peering") == []


def test_peering_promises_nothing_where_the_gateway_does_not_explain_what_was_measured() -> None:
    (one,) = told(published(direct=figure(30.0, "measured")), ends(), "peering")
    assert "would pass 625 MB/s, so it may not be what holds the direct path to 30" in one.note
    (full,) = told(published(direct=figure(600.0, "measured")), ends(), "peering")
    assert "may not be" not in full.note


def test_peering_saves_what_a_transit_gateway_costs() -> None:
    found = published(gateway=0.02, direct=figure(3125.0, "measured"))
    (one,) = told(found, ends(through="transit-gateway"), "peering")
    assert found.row(0).cost_usd - one.cost_usd == pytest.approx(20.0, abs=0.01)
    assert "a transit gateway costs by the GB" in one.note


def test_a_larger_end_is_advised_where_it_shortens_the_best_row() -> None:
    held = figure(3125.0, "measured")
    found = published(source=held, destination=held, direct=figure(625.0, "measured"))
    assert "the source machine sends at most 3125.0" in found.rows[-1].limit
    (one,) = told(found, ends(0.9), "larger-ends")
    assert one.what.startswith(f"{WIDER} as the source and {WIDER} as the destination, with ")
    assert one.seconds < 0.95 * found.chosen.seconds
    assert "$1.8 more for each hour" in one.note
    cheap = told(found, ends(0.0), "larger-ends")[0]
    assert one.cost_usd - cheap.cost_usd == pytest.approx(1.8 * one.seconds / 3600, abs=1e-5)


def test_only_the_end_that_holds_back_is_made_larger() -> None:
    found = published(source=figure(1000.0, "measured"), destination=figure(3125.0, "measured"))
    (one,) = told(found, ends(0.9), "larger-ends")
    assert one.what.startswith(f"{WIDER} as the source, with ")
    disk = published(source_disk=figure(300.0, "measured"))
    assert told(disk, ends(0.9), "larger-ends") == []


def test_from_32_vcpus_on_a_machine_needs_no_relays_for_half_of_its_network() -> None:
    (one,) = told(published(), ends(0.9), "larger-ends")
    assert one.seconds < published().chosen.seconds


def test_what_the_direct_path_moves_before_relays_serve_can_go_through_a_bucket_or_datasync() -> None:
    found = published(10 * GB)
    kinds = {one.kind: one for one in alternatives(found, ends(), 10.0)}
    assert found.row(0).seconds < 60
    assert kinds["datasync"].cost_usd == pytest.approx(10 * (0.02 + 0.0125))
    assert kinds["datasync"].seconds == found.row(0).seconds
    # 1193 parts are put and read; 10 GB for a day.
    assert kinds["s3"].cost_usd == pytest.approx(0.2 + 1193 * 5.4e-6 + 10 * 0.023 / 30, abs=1e-4)
    assert kinds["s3"].seconds == pytest.approx(found.row(0).seconds + 10_000 / 3125, abs=0.01)
    assert {one.kind for one in alternatives(published(), ends(), 10.0)}.isdisjoint({"s3", "datasync"})


def test_larger_types_are_of_the_same_family() -> None:
    assert larger_types("t3.xlarge")[:2] == ["t3.2xlarge", "t3.3xlarge"]
    assert larger_types("c6in.48xlarge") == larger_types("c6in.metal") == []


def test_checksums_are_advice_only_where_processors_hold_the_transfer_back() -> None:
    held = published(direct=figure(3125.0, "measured"), source_processor=figure(600.0), destination_processor=None)
    (one,) = told(held, ends(), "checksum")
    assert one.seconds == pytest.approx(held.chosen.seconds / CHECKSUM_GAIN, rel=0.01)
    assert "not what was made to fit" in one.note
    assert told(held, ends(checksum=True), "checksum") == []
    assert told(published(source_processor=figure(9600.0)), ends(), "checksum") == []
