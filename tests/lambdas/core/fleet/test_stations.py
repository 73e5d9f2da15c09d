"""One relay in each region measures every link that a route could use."""

from itertools import pairwise, permutations

import pytest

from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.stations import Leg, admissions, probe, rounds, stations_of
from lambdas.core.places.machines import TransitRegion
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas.builders import IRELAND, WEST, node, paths, transfer

FRANKFURT, TOKYO = "eu-central-1", "ap-northeast-1"
THIRD = (FRANKFURT, TOKYO, "us-east-1", "ap-south-1", "sa-east-1", "ca-central-1", "eu-north-1", "us-east-2")


def accepted(count: int = 2) -> AcceptedTransfer:
    third = [TransitRegion(region=region, vpc_id=f"vpc-{region}") for region in THIRD[:count]]
    return transfer(relays={"through": list(THIRD[:count])}).model_copy(update={"transit": third})


def relays(of: AcceptedTransfer) -> dict[int, Node]:
    return {
        stage.index: node(
            stage.index, node_id=f"at-{stage.region}", region=stage.region, private_address=f"10.0.0.{stage.index}",
            public_address=f"54.0.0.{stage.index}",
        )
        for stage in stations_of(of)
    }  # fmt: skip


def usable_links(count: int) -> set[str]:
    """Every link of every route of four stages at most, written out."""
    routes = [
        (WEST, *between, IRELAND) for size in range(3) for between in permutations(THIRD[:count], size)
    ]  # fmt: skip
    return {f"{start}>{end}" for route in routes for start, end in pairwise(route)}


@pytest.mark.parametrize("count", range(1, 9))
def test_every_link_that_a_route_could_use_is_measured_once(count: int) -> None:
    legs = [leg for turn in rounds(stations_of(accepted(count))) for leg in turn]
    assert len({leg.link for leg in legs}) == len(legs)
    assert {leg.link for leg in legs} == usable_links(count)


@pytest.mark.parametrize("count", range(1, 9))
def test_in_a_round_each_relay_sends_to_one_and_takes_from_one(count: int) -> None:
    found = rounds(stations_of(accepted(count)))
    assert len(found) <= count + 1
    for legs in found:
        for place in ("start", "end"):
            regions = [getattr(leg, place).region for leg in legs]
            assert len(set(regions)) == len(regions)


def test_probe_begins_at_the_relay_that_sends_and_gets_there_through_the_sources_region() -> None:
    of = accepted()
    west, ireland, frankfurt, tokyo = stations_of(of)
    found = probe(of, paths(), relays(of), Leg(frankfurt, tokyo), 10.0)
    assert [hop.node_id for hop in found.path.hops] == [f"at-{WEST}", f"at-{FRANKFURT}", f"at-{TOKYO}"]
    addresses = [hop.address for hop in found.path.hops]
    assert addresses == ["10.0.0.0:4600", f"54.0.0.{frankfurt.index}:4600", f"54.0.0.{tokyo.index}:4600"]
    assert (found.measure_from, found.path.path_id) == (1, f"link-{frankfurt.index}-{tokyo.index}")
    first = probe(of, paths(), relays(of), Leg(west, ireland), 10.0)
    assert ([hop.node_id for hop in first.path.hops], first.measure_from) == ([f"at-{WEST}", f"at-{IRELAND}"], None)


def test_every_relay_admits_exactly_those_that_measure_to_it() -> None:
    of = accepted()
    nodes = relays(of)
    let_in: dict[str, set[str]] = {}
    for one in nodes.values():
        for rule in admissions(of, paths(), one):
            let_in.setdefault(rule.beside.region, set()).add(rule.address)
    by_region = {one.region: one.public_address for one in nodes.values()}
    assert let_in == {
        WEST: {of.at_source.private_address},
        IRELAND: {by_region[WEST], by_region[FRANKFURT], by_region[TOKYO], paths().source_address},
        FRANKFURT: {by_region[WEST], by_region[TOKYO]},
        TOKYO: {by_region[WEST], by_region[FRANKFURT]},
    }
