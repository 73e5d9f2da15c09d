"""Golden estimates: what is published decides until something is measured."""

from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.estimate import end_limits, offers
from lambdas.core.estimate.estimate import Estimate, estimate
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.history import History
from lambdas.core.estimate.offers import Side, Terms
from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.estimate.type_choice import rank
from lambdas.core.request.request import Objective
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import PriceBook

GB = 10**9
ZONES = frozenset({"us-west-2a", "eu-west-1a"})
GBPS = {"t3.small": (0.128, 2), "m5.large": (0.75, 2), "c6in.large": (3.125, 2), "c7gn.4xlarge": (25.0, 16)}
FACTS = {
    name: TypeFacts(name, vcpus, "x86_64", gbps, gbps, 100.0, 100.0, False, ZONES)
    for name, (gbps, vcpus) in GBPS.items()
}
BOTH = frozenset({"x86_64", "arm64"})


def terms(*, internet: bool = True, **changes: Any) -> Terms:
    source, destination = (Side(region, f"{region}a", FACTS, None, BOTH) for region in ("us-west-2", "eu-west-1"))
    given = Terms(source, destination, internet=internet, prices=PriceBook(), market="on-demand", now=0.0)
    return replace(given, **changes)


def golden(
    end_type: str,
    relay: str = "c6in.large",
    *,
    size: int = 1000 * GB,
    via: Terms | None = None,
    machines: Profile | None = None,
    relays: Profile | None = None,
) -> Estimate:
    via = via or terms()
    profiles = {end_type: None, relay: relays}
    return estimate(
        size,
        offers.end_figures(via, (end_type, end_type), machines, profiles, [relay], None),
        [offers.offer(via, relay, profiles[relay])],
        requested="auto",
        pre_test=False,
        objective=Objective(),
        most_pairs=16,
        pre_test_seconds=10.0,
        notes=[],
    )


def measured(**metrics: float) -> Profile:
    names: dict[str, Metric] = {"inter": "interRegion", "intra": "intraRegion", "direct": "direct", "ends": "ends"}
    return Profile({names[name]: History(value, value * value, 5, 0.0) for name, value in metrics.items()})


@pytest.mark.parametrize("end_type", ["t3.small", "m5.large"])
def test_ends_that_one_cap_holds_for_all_traffic_need_no_relays(end_type: str) -> None:
    found = golden(end_type, machines=measured(direct=FACTS[end_type].network))
    assert found.chosen_pairs == 0
    assert "fills the end machines already" in found.reason
    assert found.figures.source.origin == "published"


def test_large_ends_behind_an_internet_gateway_gain() -> None:
    found = golden("c7gn.4xlarge")
    assert found.chosen_pairs > 0
    assert found.figures.direct.greatest == 625.0
    assert "internet gateway" in found.figures.direct.note
    assert found.row(found.chosen_pairs).speedup > 1.5


def test_the_same_over_peering_needs_no_relays() -> None:
    whole = measured(direct=FACTS["c7gn.4xlarge"].network)
    assert golden("c7gn.4xlarge", via=terms(internet=False), machines=whole).chosen_pairs == 0


def test_what_is_published_of_a_machine_is_no_expectation_of_its_path() -> None:
    found = golden("c7gn.4xlarge", via=terms(internet=False))
    direct = found.figures.direct
    # The slowest path of the dissertation, and all that the machine may send: the geometric mean is expected.
    assert (direct.least, direct.greatest) == (15.0, 3125.0)
    assert direct.value == pytest.approx((15 * 3125) ** 0.5)
    assert found.on_the_way
    best, worst = found.rows[0].bounds
    assert best == pytest.approx(1e6 / 3125)
    assert worst == pytest.approx(1e6 / 15, rel=1e-3)
    # Pairs of relays between the same regions tell what paths there carry.
    known = golden("c7gn.4xlarge", via=terms(internet=False), relays=measured(inter=30.0)).figures.direct
    assert (known.value, known.greatest) == (30.0, 3125.0)
    assert known.least == pytest.approx(30.0 / 4, rel=0.1)
    # Inside a region a machine's own limit is that of its path.
    side = terms().source
    inside = offers.end_figures(
        terms(destination=side), ("c7gn.4xlarge",) * 2, None, {"c7gn.4xlarge": None}, [], None
    ).direct
    assert (inside.least, inside.greatest) == (3125.0, 3125.0)


def test_what_two_machines_have_shown_overrides_what_is_published() -> None:
    found = golden("m5.large", machines=measured(direct=40.0, ends=160.0), relays=measured(inter=30.0, intra=300.0))
    values = [getattr(found.figures, name).value for name in ("source", "destination", "direct", "pair")]
    assert values == [160.0, 160.0, 40.0, 30.0]
    assert found.figures.direct.origin == "measured"


def test_what_was_seen_to_pass_is_possible_whatever_is_published() -> None:
    # A t3.small's baseline is 16 MB/s; credits, or another cloud, may give more.
    found = golden("t3.small", machines=measured(direct=40.0), relays=measured(inter=30.0, intra=200.0))
    assert (found.figures.source.value, found.figures.source.origin) == (200.0, "measured")
    assert golden("t3.small", machines=measured(direct=40.0)).figures.source.value == 40.0


def test_a_bandwidth_limit_caps_the_source_and_the_direct_path() -> None:
    ends = offers.end_figures(terms(), ("m5.large", "m5.large"), None, {"m5.large": None}, [], 80)
    assert (ends.source.value, ends.direct.value, ends.destination.value) == (10.0, 10.0, 93.75)
    assert ends.direct.note == "$.bandwidthLimitMbps"


def test_a_type_that_the_zone_does_not_offer_or_that_has_no_daemon_or_price_is_refused_with_the_reason() -> None:
    elsewhere = replace(FACTS["m5.large"], zones=frozenset({"us-west-2b"}))
    given = terms()
    narrow = replace(given, source=replace(given.source, facts={**FACTS, "m5.large": elsewhere}))
    assert offers.offer(narrow, "m5.large", None).refusal == "not offered in us-west-2a"
    bare = replace(given, destination=replace(given.destination, daemons=frozenset({"x86_64"})))
    assert "no daemon for arm64" in offers.offer(bare, "c7gn.large", None).refusal
    assert "x9.enormous in us-west-2 has no price" in offers.offer(given, "x9.enormous", None).refusal


def test_quotas_bound_the_pairs_of_the_smaller_side() -> None:
    given = terms()
    tight = replace(given, destination=replace(given.destination, free_vcpus=7))
    assert offers.offer(tight, "m5.large", None).most_pairs == 3
    one_region = replace(given, destination=given.source, source=replace(given.source, free_vcpus=7))
    assert offers.offer(one_region, "m5.large", None).most_pairs == 1


def test_each_side_has_its_own_price_and_relays_a_tail_that_is_learnt() -> None:
    found = offers.offer(terms(), "m5.large", None)
    assert [hour.note.rpartition(", ")[2].partition(":")[0] for hour in found.hours] == ["us-west-2", "eu-west-1"]
    assert found.hours[0].value < found.hour.value < found.hours[1].value
    assert found.tail is not None
    assert (found.tail.value, found.tail.origin) == (offers.TAIL_SECONDS, "assumed")
    learnt = offers.offer(terms(), "m5.large", Profile().refined("tail", 9.0, 1000.0)).tail
    assert learnt is not None
    assert (learnt.value, learnt.origin) == (9.0, "measured")


def test_an_hour_is_the_mean_of_both_regions_with_address_and_disk() -> None:
    public, private = (offers.offer(terms(internet=way), "m5.large", None).hour for way in (True, False))
    assert public.value - private.value == pytest.approx(0.005)
    assert private.value == pytest.approx((0.096 + 0.107) / 2 + 8 * (0.08 + 0.088) / 2 / 730)
    assert "embedded table" in public.note


def test_the_spread_of_pairs_is_measured_from_three_samples_on() -> None:
    assert offers.offer(terms(), "m5.large", None).spread.value == offers.SPREAD
    varied = Profile({"interRegion": History(20.0, 404.0, 5, 0.0)})
    assert offers.offer(terms(), "m5.large", varied).spread.value == pytest.approx(0.1)
    nothing = Profile({"interRegion": History(0.0, 0.0, 5, 0.0)})
    assert offers.offer(terms(), "m5.large", nothing).spread.value == offers.SPREAD


def test_disks_are_what_the_survey_saw() -> None:
    ends = offers.end_figures(terms(), ("m5.large", "m5.large"), None, {"m5.large": None}, [], None)
    assert (ends.source.value, ends.receive) == (93.75, 93.75)
    seen = end_limits.with_disks(ends, 50.0, None)
    assert seen.source_disk
    assert (seen.source_disk.value, seen.receive, seen.ends) == (50.0, 93.75, 50.0)
    assert seen.destination_disk is None


def test_what_is_sent_twice_is_assumed_as_far_as_too_little_was_measured() -> None:
    def share(weight: float | None) -> Figure | None:
        machines = Profile({"repeated": History(0.5, 0.25, 1, 0.0, weight=weight, measurements=1)})
        return offers.end_figures(terms(), ("m5.large",) * 2, machines, {"m5.large": None}, [], None).repeated

    found = [share(weight) for weight in (0.1, 1.0, None)]
    assert [one and one.value for one in found] == [pytest.approx(0.1 * 0.5 + 0.9 * 0.01), 0.5, 0.5]
    assert found[0]
    assert "for 90 % of it 0.01 is assumed" in found[0].note


def test_a_type_that_was_never_measured_does_not_take_the_place_of_one_that_carries_as_much() -> None:
    """It counts as the direct path: a cheaper one would be taken, and its rate looked for, with every transfer."""
    ends = offers.end_figures(
        terms(), ("m5.large",) * 2, measured(direct=30.0, ends=200.0), {"m5.large": None}, [], None
    )

    def ranked(dearer: Profile | None) -> list[str]:
        known = {"c6in.large": dearer, "m5.large": None}
        found = [offers.offer(terms(), kind, profile, beside=ends) for kind, profile in known.items()]
        return [one.instance_type for one in rank(10 * GB, ends, found, 8)]

    cheaper, dearer = "m5.large", "c6in.large"
    assert ranked(None) == [cheaper, dearer]
    assert ranked(measured(inter=30.0)) == [dearer, cheaper]
    assert ranked(Profile().refined("interRegionAtLeast", 30.0, 0.0)) == [dearer, cheaper]
    # One that carries less is no reason to leave the others untried.
    assert ranked(measured(inter=10.0)) == [cheaper, dearer]


WEIGHTED = {
    name: replace(TypeFacts(name, 2, "x86_64", gbps, gbps, 100.0, 100.0, False, ZONES), takes_weighting=True)
    for name, gbps in {"m5.large": 2.0, "c6in.large": 10.0}.items()
}


def weighted() -> Terms:
    source, destination = (Side(region, f"{region}a", WEIGHTED, None, BOTH) for region in ("us-west-2", "eu-west-1"))
    return terms(source=source, destination=destination)


def test_relays_of_a_type_that_takes_it_count_with_a_quarter_more_and_ends_do_not() -> None:
    found = golden("m5.large", "m5.large", via=weighted())
    assert found.figures.source.value == 250.0
    assert found.figures.pair.greatest == 312.5
    assert offers.offer(weighted(), "m5.large", None).pair.note == (
        "m5.large: baseline 2.5 Gbps with bandwidth weighting vpc-1"
    )
    # A gateway passes no more than before.
    assert offers.offer(weighted(), "c6in.large", None).pair.greatest == 625.0


def test_what_relays_with_more_for_their_network_have_shown_is_possible_of_an_end_and_not_expected() -> None:
    seen = measured(inter=200.0, intra=300.0)
    plain, both = (
        offers.end_figures(via, ("m5.large", "m5.large"), None, {"m5.large": seen}, [], None)
        for via in (terms(), weighted())
    )
    for name in ("source", "destination", "direct"):
        one, other = getattr(plain, name), getattr(both, name)
        assert other.greatest == one.greatest
        assert (other.value, other.least) == pytest.approx((one.value / 1.25, one.least / 1.25))
