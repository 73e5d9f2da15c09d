"""A route through a third region teaches its own links, and never that of the ends."""

from typing import Any

import pytest

from lambdas.core.estimate.profile import Profile
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import Route, routes_of
from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.learning.path_links import PathLinks, links_in_use
from lambdas.core.learning.sample import Sample
from lambdas.core.learning.samples import samples_of, tails_of
from lambdas.core.places.machines import TransitRegion
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas.buckets import to_bucket
from tests.lambdas.builders import IRELAND, WEST, node, transfer
from tests.lambdas.traffic import Traffic

FRANKFURT, TOKYO = "eu-central-1", "ap-northeast-1"
TYPE = "t3.small"
OWN, FIRST, SECOND = f"{WEST}>{IRELAND}", f"{WEST}>{FRANKFURT}", f"{FRANKFURT}>{IRELAND}"
PATH = "route-2-1-1-1"
ACCURACY = 0.05


def accepted() -> AcceptedTransfer:
    third = [TransitRegion(region=region, vpc_id=f"vpc-{region}") for region in (FRANKFURT, TOKYO)]
    return transfer(relays={"through": [FRANKFURT, TOKYO]}).model_copy(update={"transit": third})


def route(*between: str) -> Route:
    return next(one for one in routes_of(accepted()) if one.between == between)


def relays(*between: str, slots: int = 1, **changes: Any) -> list[Node]:
    """The relays of a route, or of pairs, that served until the end."""
    joined = {"state": "TERMINATED", "joined_at": 1040.0, "ready_at": 1035.0, **changes}
    stages = route(*between).stages
    return [node(stage.index, slot, region=stage.region, **joined) for stage in stages for slot in range(1, slots + 1)]


def known(**rates: float) -> dict[tuple[str, str], Profile]:
    """By the names of the links above, MB/s that were measured."""
    links = {"own": OWN, "first": FIRST, "second": SECOND}
    return {(TYPE, links[name]): Profile().refined("interRegion", rate, 1000.0) for name, rate in rates.items()}


def learnt(traffic: Traffic, nodes: list[Node], knowledge: dict[tuple[str, str], Profile]) -> list[Sample]:
    profiles = {kind: profile for (kind, link), profile in knowledge.items() if link == OWN}
    others = {key: profile for key, profile in knowledge.items() if key[1] != OWN}
    return samples_of(accepted(), traffic.arrivals(), nodes, profiles, other_links=others)


def rates(samples: list[Sample], metric: str = "interRegion") -> dict[str | None, float]:
    found = {sample.link: sample.value for sample in samples if (sample.subject, sample.metric) == (TYPE, metric)}
    assert len(found) == sum((sample.subject, sample.metric) == (TYPE, metric) for sample in samples)
    return found


def through(rate: float) -> Traffic:
    return Traffic({"direct": 20.0, PATH: rate}, {"direct": 0.0, PATH: 6.0}, size_mb=1200)


def test_the_rate_of_a_path_is_that_of_the_link_that_is_known_to_carry_least() -> None:
    samples = learnt(through(36.0), relays(FRANKFURT), known(own=20.0, first=60.0, second=40.0))
    assert rates(samples) == {SECOND: pytest.approx(36.0, rel=ACCURACY)}


def test_a_rate_that_passed_raises_what_was_known_of_every_link() -> None:
    samples = learnt(through(70.0), relays(FRANKFURT), known(first=60.0, second=40.0))
    assert rates(samples) == {link: pytest.approx(70.0, rel=ACCURACY) for link in (FIRST, SECOND)}


def test_a_link_that_nobody_has_measured_counts_as_much_as_that_of_the_ends() -> None:
    samples = learnt(through(30.0), relays(FRANKFURT), known(own=20.0, first=60.0))
    assert rates(samples) == {SECOND: pytest.approx(30.0, rel=ACCURACY)}


def test_where_nobody_can_tell_which_link_limits_only_what_is_known_is_raised() -> None:
    assert rates(learnt(through(30.0), relays(FRANKFURT), known(first=60.0))) == {}
    assert rates(learnt(through(70.0), relays(FRANKFURT), known(first=60.0))) == {
        FIRST: pytest.approx(70.0, rel=ACCURACY)
    }
    assert rates(learnt(through(70.0), relays(FRANKFURT), {})) == {}


def test_of_two_links_that_are_known_to_be_alike_the_one_that_was_measured_earlier_is_taught() -> None:
    older = Profile().refined("interRegion", 41.0, 10.0)  # 41 and 40 differ by less than two measurements of one link
    knowledge = known(first=40.0) | {(TYPE, SECOND): older}
    assert rates(learnt(through(36.0), relays(FRANKFURT), knowledge)) == {SECOND: pytest.approx(36.0, rel=ACCURACY)}


def test_pairs_beside_a_route_teach_the_link_of_the_ends() -> None:
    both = Traffic(
        {"direct": 20.0, "pair-1": 20.0, PATH: 36.0}, {"direct": 0.0, "pair-1": 6.0, PATH: 6.0}, size_mb=1200
    )  # fmt: skip
    samples = learnt(both, [*relays(), *relays(FRANKFURT)], known(own=20.0, first=60.0, second=40.0))
    assert rates(samples) == {
        None: pytest.approx(20.0, rel=ACCURACY),
        SECOND: pytest.approx(36.0, rel=ACCURACY),
    }


def test_what_the_ends_held_back_is_no_rate_of_a_link() -> None:
    held = Traffic({"direct": 20.0, PATH: 40.0}, {"direct": 0.0, PATH: 6.0}, size_mb=600, ceiling=35.0)
    samples = learnt(held, relays(FRANKFURT), known(own=20.0, first=60.0, second=40.0))
    assert rates(samples) == {}
    assert any(sample.metric == "ends" for sample in samples)


def test_a_burst_that_ended_is_of_the_link_that_limits() -> None:
    fell = Traffic(
        {"direct": 20.0, PATH: 60.0}, {"direct": 0.0, PATH: 6.0}, size_mb=2400, falls_at=26.0,
        lasting={"direct": 20.0, PATH: 10.0},
    )  # fmt: skip
    samples = learnt(fell, relays(FRANKFURT), known(first=80.0, second=60.0))
    assert rates(samples, "interRegionLasting") == {SECOND: pytest.approx(10.0, rel=0.1)}
    assert rates(samples, "interRegionCredit").keys() == {SECOND}


def test_what_a_second_path_of_a_route_adds_is_of_the_link_that_limits() -> None:
    other = "route-2-2-2-2"
    two = Traffic(
        {"direct": 20.0, PATH: 30.0, other: 24.0}, {"direct": 0.0, PATH: 6.0, other: 14.0}, size_mb=1200
    )  # fmt: skip
    samples = learnt(two, relays(FRANKFURT, slots=2), known(first=60.0, second=32.0))
    assert rates(samples, "gain") == {SECOND: pytest.approx(0.8, abs=0.1)}


def test_times_of_a_relay_beside_an_end_are_of_the_ends_link_and_others_of_the_link_that_it_feeds() -> None:
    nodes = relays(FRANKFURT, TOKYO, ended_at=1100.0)
    spawned = samples_of(accepted(), Arrivals(), nodes, {})
    traffic = through(30.0).arrivals()
    for samples, metric in ((spawned, "spawn"), (tails_of(accepted(), traffic, nodes), "tail")):
        links = [sample.link for sample in samples if sample.metric == metric]
        assert links == [None, f"{FRANKFURT}>{TOKYO}", f"{TOKYO}>{IRELAND}", None]


def test_links_in_use_are_those_of_routes_that_had_relays() -> None:
    assert links_in_use(accepted(), relays()) == []
    assert links_in_use(accepted(), relays(FRANKFURT, TOKYO)) == sorted(
        [FIRST, f"{FRANKFURT}>{TOKYO}", f"{TOKYO}>{IRELAND}"]
    )


def test_relays_that_dial_s3_teach_what_is_known_of_machine_and_bucket() -> None:
    """And not the link between these regions, on which pairs of relays are."""
    links = PathLinks(to_bucket(), {})
    assert links.of("route-0-1") == (f"{WEST}>s3:{IRELAND}",)
    (sample,) = links.samples("route-0-1", TYPE, 300.0, 60.0)
    assert (sample.subject, sample.metric, sample.value, sample.link) == (TYPE, "interRegion", 300.0, None)
