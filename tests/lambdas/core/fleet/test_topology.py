from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.documents import MAX_STAGES_IN_ALL
from lambdas.core.fleet import topology
from lambdas.core.fleet.membership import RELAY_PORT
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.fleet.topology import Admission, Route, Stage, admissions
from lambdas.core.places.machines import TransitRegion
from tests.lambdas.builders import node, paths, route, transfer

RECEIVER_PORT = transfer().receiver_port
SOURCE, DESTINATION = transfer().at_source, transfer().at_destination


def at_public(one: Node) -> str:
    assert one.public_address is not None
    return one.public_address


def opened(on: Route, one: Node, *existing: int, via: ResolvedPaths | None = None) -> list[Admission]:
    return admissions(on, via or paths(), one, existing, RECEIVER_PORT)


def test_pair_is_a_stage_beside_each_end() -> None:
    pair = topology.route_of(transfer(), (2, 3))
    assert pair.stages == (
        Stage(0, "source", SOURCE.region, SOURCE.vpc_id, 2, SOURCE),
        Stage(1, "destination", DESTINATION.region, DESTINATION.vpc_id, 3, DESTINATION),
    )
    assert [list(stage.slots) for stage in pair.stages] == [[1, 2], [1, 2, 3]]
    assert pair.stages[1].node_id(3, 1) == "destination-3-1"


def test_every_route_also_ends_in_relays_that_send_straight_to_the_receiver() -> None:
    regions = [TransitRegion(region=f"xx-test-{number}", vpc_id="vpc-transit") for number in range(8)]
    asked = transfer().model_copy(update={"transit": regions})
    routes = topology.routes_of(asked)
    ways = [(on.way, on.is_straight) for on in routes]
    assert len(set(ways)) == len(ways)
    assert {way for way, straight in ways if straight} == {way for way, straight in ways if not straight}
    assert all(on.way[-1] == DESTINATION.region and on.stages[0].end is on.source for on in routes)
    stages = [stage.index for on in routes for stage in on.stages]
    assert stages == [*range(len(stages))]
    assert len(stages) < MAX_STAGES_IN_ALL


def test_side_of_a_stage_is_that_of_its_end_and_the_sources_in_a_third_region() -> None:
    asked = transfer().model_copy(update={"transit": [TransitRegion(region="eu-central-1", vpc_id="vpc-transit")]})
    assert [topology.side_of(asked, stage) for stage in range(8)] == [0, 1, 0, 0, 1, 0, 0, 0]


def test_lost_relay_is_replaced_at_its_own_stage() -> None:
    for stages in (1, 2, 3):
        on = route(stages)
        for stage in on.stages:
            assert on.stages[node(stage.index).stage] is stage


@pytest.mark.parametrize(
    ("stages", "inside"),
    [(0, [False]), (1, [True, False]), (2, [True, False, True]), (3, [True, False, False, True])],
)
def test_hops_beside_an_end_stay_inside_its_vpc(stages: int, inside: list[bool]) -> None:
    assert [route(stages).is_inside(hop) for hop in range(stages + 1)] == inside


def test_addresses_are_private_inside_a_vpc_and_those_of_the_regions_path_between_two() -> None:
    pair, private = route(), paths().model_copy(update={"inter_region": "private"})
    assert [pair.address(hop, paths(), "10.0.0.1", "54.0.0.9") for hop in (0, 1, 2)] == [
        "10.0.0.1",
        "54.0.0.9",
        "10.0.0.1",
    ]
    assert pair.address(1, private, "10.0.0.1", None) == "10.0.0.1"
    with pytest.raises(LookupError):
        pair.address(1, paths(), "10.0.0.1", None)


def test_pair_opens_source_to_relay_relay_to_relay_and_relay_to_destination() -> None:
    pair, first, last = route(), node(0), node(1)
    assert opened(pair, first) == [
        Admission(pair.stages[0], "relay", SOURCE.private_address, RELAY_PORT),
        Admission(pair.stages[1], "relay", at_public(first), RELAY_PORT),
    ]
    assert opened(pair, last) == [Admission(DESTINATION, "endpoint", last.private_address, RECEIVER_PORT)]


def test_single_stage_opens_both_of_its_hops() -> None:
    one, relay = route(1), node(0)
    assert opened(one, relay) == [
        Admission(one.stages[0], "relay", SOURCE.private_address, RELAY_PORT),
        Admission(DESTINATION, "endpoint", at_public(relay), RECEIVER_PORT),
    ]


def test_stage_away_from_the_source_admits_the_address_that_the_source_has_between_regions() -> None:
    far = replace(route(1), stages=(replace(route().stages[1], index=0),))
    assert opened(far, node(0))[0].address == paths().source_address


@given(st.integers(1, 4), st.sets(st.integers(0, 3)))
def test_every_stage_admits_exactly_the_one_before(stages: int, existing: set[int]) -> None:
    on = route(stages)
    relays = [node(at) for at in range(stages)]
    admitted = [one for relay in relays for one in opened(on, relay, *existing)]
    let_in = {(one.beside, one.address) for one in admitted}
    addresses = [
        SOURCE.private_address,
        *(on.address(at + 1, paths(), r.private_address, r.public_address) for at, r in enumerate(relays)),
    ]
    assert let_in == set(zip((*on.stages, DESTINATION), addresses, strict=True))
    assert {one.port for one in admitted if one.beside == DESTINATION} == {RECEIVER_PORT}
    in_ends_group = {one.beside.index for one in admitted if isinstance(one.beside, Stage) and one.group == "endpoint"}
    assert in_ends_group == {at for at in existing if 0 < at < stages}


def test_machine_of_the_user_admits_the_source_as_an_end_does() -> None:
    assert opened(route(), node(0, provider="lent"))[0].group == "endpoint"


def test_relay_between_two_regions_is_in_nobodys_zone() -> None:
    on = route(3)
    elsewhere = [node(at, availability_zone="us-west-2x") for at in range(3)]
    assert [on.in_other_zone(one) for one in elsewhere] == [True, False, True]
    assert not route().in_other_zone(node(0))


def test_regions_of_a_route_are_those_of_its_ends_and_stages() -> None:
    between = replace(route(3).stages[1], region="ap-south-1")
    on = replace(route(3), stages=(route(3).stages[0], between, route(3).stages[2]))
    assert on.regions == ["ap-south-1", DESTINATION.region, SOURCE.region]


def test_partners_are_the_relays_of_the_slot_at_all_other_stages() -> None:
    assert [route(stages).partners(node(0, 7)) for stages in (1, 2, 3)] == [set(), {(1, 7)}, {(1, 7), (2, 7)}]


def test_paths_of_pairs_have_the_ids_that_people_know() -> None:
    assert [topology.path_id(slots) for slots in ([7, 7], [2, 13])] == ["pair-7", "pair-2-13"]
    assert topology.path_id([4]) == "route-0-4"
    assert topology.path_id([1, 2, 1], first=5) == "route-5-1-2-1"


@given(st.lists(st.integers(1, 128), min_size=1, max_size=4), st.integers(0, 200))
def test_path_leads_through_the_slots_that_it_was_named_for_and_no_other_stage(slots: list[int], first: int) -> None:
    path = topology.path_id(slots, first)
    after = first + len(slots)
    assert [topology.slot_at(path, stage) for stage in range(first, after)] == slots
    assert [topology.slot_at(path, stage) for stage in (first - 1, after)] == [None, None]
    assert all(topology.leads_through(path, node(stage, slot)) for stage, slot in enumerate(slots, first))
    assert not any(topology.leads_through(path, node(stage, slot + 1)) for stage, slot in enumerate(slots, first))


@pytest.mark.parametrize("path", ["direct", "pair-", "pair-a", "pair-1-2-3", "route-1", "via-us-east-1"])
def test_path_of_another_name_leads_through_no_relay(path: str) -> None:
    assert topology.slot_at(path, 0) is None


@pytest.mark.parametrize(
    ("found", "shared"),
    [
        (["direct", "pair-1", "pair-2"], False),
        (["pair-1-2", "pair-2-1"], False),
        (["pair-2", "pair-1-2"], True),
        (["route-2-1-2-3", "route-2-2-3-4"], False),
        (["route-2-1-2-3", "route-2-2-2-2"], True),
        (["route-2-1-2-3", "route-5-1-2-3", "pair-1"], False),
    ],
)
def test_paths_share_a_relay_where_one_stage_has_one_slot_in_both(found: list[str], shared: bool) -> None:
    assert topology.share_relays(found) is shared
