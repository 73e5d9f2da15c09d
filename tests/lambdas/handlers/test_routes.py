"""A transfer whose relays stand on a route through a third region, from launch to teardown."""

from collections.abc import Sequence
from typing import Any

from lambdas.core import transfer_life
from lambdas.core.documents import Document
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.fleet.relay_node import Node
from lambdas.core.transfer import AcceptedTransfer, Membership, TransferPath, TransitRegion
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.operations.fleet.replacement import Failing, replace
from tests.lambdas.builders import IRELAND, SHARED, WEST, estimate, figure, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import ROUTE_KEY, begin, path_ids, states

FRANKFURT = "eu-central-1"


def accepted() -> AcceptedTransfer:
    asked = transfer(relays={"through": [FRANKFURT], "instanceTypes": ["t3.small"]})
    return asked.model_copy(update={"transit": [TransitRegion(region=FRANKFURT, vpc_id="vpc-transit")]})


def use(stage: int, regions: list[str], relays: list[int]) -> RouteUse:
    hours = [0.02] * len(regions)
    return RouteUse(stage=stage, regions=regions, relays=relays, rate=figure(20), usd_per_gb=0.04, hours_usd=hours)


def routed(*uses: RouteUse) -> Estimate:
    plain = estimate(2)
    rows = [row.model_copy(update={"routes": list(uses)}) if row.pairs == 2 else row for row in plain.rows]
    return plain.model_copy(update={"rows": rows})


def launched(chosen: Estimate, asked: AcceptedTransfer | None = None, third: Sequence[str] = (FRANKFURT,)) -> Cloud:
    cloud, asked = Cloud(third=third), asked or accepted()
    begin(cloud, asked, chosen)
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="54.1.0.1:4601", lanes=2)
    cloud.agents.write_membership(SHARED, Membership(version=1, paths=[direct]))
    cloud.agents.route_keys[SHARED] = ROUTE_KEY
    spawn_relays(SpawnInput(transfer=asked, estimate=chosen), cloud.world)
    return cloud


THROUGH = use(2, [WEST, FRANKFURT, IRELAND], [1, 1, 1])
STRAIGHT = use(0, [WEST, IRELAND], [1, 1])


def served(*uses: RouteUse) -> Cloud:
    cloud = launched(routed(*uses))
    await_relays(AwaitInput(transfer=accepted()), cloud.world)
    return cloud


def test_relays_are_launched_in_every_region_of_their_route() -> None:
    cloud = launched(routed(STRAIGHT, THROUGH))
    assert {region: len(compute.of_transfer("first")) for region, compute in cloud.compute.items()} == {
        WEST: 2,
        FRANKFURT: 1,
        IRELAND: 2,
    }
    assert states(cloud).keys() == {
        "source-1-0",
        "destination-1-0",
        "source-2-1-0",
        "transit-3-1-0",
        "destination-4-1-0",
    }
    (launch,) = cloud.compute[FRANKFURT].launches
    assert (launch.subnet_id, launch.group_id, launch.public_address) == (
        "subnet-transit",
        "vpc-transit/cpt-relay",
        True,
    )


def test_data_takes_pairs_and_the_route_beside_the_direct_path() -> None:
    cloud = served(STRAIGHT, THROUGH)
    assert path_ids(cloud) == ["direct", "pair-1", "route-2-1-1-1"]
    membership = cloud.agents.membership(SHARED)
    assert membership is not None
    by_id = {node.node_id: node for node in cloud.nodes.of("first")}
    hops = membership.paths[2].hops
    assert [hop.node_id for hop in hops] == ["source-2-1-0", "transit-3-1-0", "destination-4-1-0"]
    first, transit, last = (by_id[hop.node_id] for hop in hops)
    # Inside a VPC by the private address, between regions by the public one.
    addresses = [first.private_address, transit.public_address, last.public_address]
    assert [hop.address.split(":")[0] for hop in hops] == addresses
    assert membership.paths[2].receiver == "10.11.0.1:4601"


def test_every_stage_admits_exactly_the_stage_before() -> None:
    cloud = served(THROUGH)
    by_role: dict[str, Node] = {node.stage_name: node for node in cloud.nodes.of("first")}
    let_in = {
        region: {(rule.group_id, rule.address) for rule in groups.admitted} for region, groups in cloud.groups.items()
    }
    assert let_in == {
        WEST: {("vpc-source/cpt-relay", "10.10.0.1")},
        FRANKFURT: {("vpc-transit/cpt-relay", by_role["source-2"].public_address)},
        IRELAND: {
            ("vpc-destination/cpt-relay", by_role["transit-3"].public_address),
            ("vpc-destination/cpt-endpoint", by_role["destination-4"].private_address),
        },
    }


def test_route_of_which_one_region_has_no_capacity_is_left_and_the_others_serve() -> None:
    cloud = Cloud(third=(FRANKFURT,))
    cloud.compute[FRANKFURT].refusals["t3.small"] = "InsufficientInstanceCapacity"
    begin(cloud, accepted(), routed(STRAIGHT, THROUGH))
    found = spawn_relays(SpawnInput(transfer=accepted(), estimate=routed(STRAIGHT, THROUGH)), cloud.world)
    assert (found["wanted"], found["spawned"]) == (2, 1)
    assert any("eu-central-1" in note for note in found["notes"])
    live = {name for name, state in states(cloud).items() if state == "SPAWNED"}
    assert live == {"source-1-0", "destination-1-0"}
    assert len(cloud.alive()) == 2


def test_lost_relay_of_a_third_region_is_replaced_there() -> None:
    cloud = served(STRAIGHT, THROUGH)
    (node,) = [node for node in cloud.nodes.of("first") if node.region == FRANKFURT]
    assert replace(cloud.world, node, Failing("lost", "killed by the test")) == "replaced"
    (successor,) = [one for one in cloud.nodes.of("first") if one.node_id == "transit-3-1-1"]
    assert (successor.region, successor.state) == (FRANKFURT, "JOINED")
    assert path_ids(cloud) == ["direct", "pair-1", "route-2-1-1-1"]


def test_nothing_is_left_in_any_region() -> None:
    cloud = served(STRAIGHT, THROUGH)
    event: dict[str, Any] = {"transfer_id": "first", "execution_arn": accepted().execution_arn}
    tear_down(TearDownInput(**event), cloud.world)
    assert cloud.alive() == []
    assert [rule for groups in cloud.groups.values() for rule in groups.rules()] == []


def test_relays_that_serve_already_are_not_launched_again_when_routes_join_them() -> None:
    plain = estimate(4).model_copy(update={"chosen_pairs": 2})
    cloud = launched(plain)
    await_relays(AwaitInput(transfer=accepted()), cloud.world)
    cloud.clock.sleep(100)
    joined = [use(0, [WEST, IRELAND], [3, 3]), THROUGH]
    rows = [row.model_copy(update={"routes": joined}) if row.pairs == 4 else row for row in plain.rows]
    more = plain.model_copy(update={"rows": rows, "chosen_pairs": 4})
    decided = RelayDecision(
        at=cloud.clock.now(),
        after=1.0,
        served=2,
        pairs=4,
        last_slot=2,
        instance_type="t3.small",
        direct=1.0,
        total=1.0,
        reason="by the test",
    )
    cloud.transfers.change(accepted(), transfer_life.note(estimate=more, decisions=[decided.to_document()]))
    spawn_relays(SpawnInput(transfer=accepted(), estimate=more), cloud.world)
    assert {region: compute.terminated for region, compute in cloud.compute.items()} == {
        WEST: [],
        IRELAND: [],
        FRANKFURT: [],
    }
    assert len(cloud.alive()) == len(cloud.nodes.of("first")) == 9


def test_document_of_a_route_has_the_fields_of_its_contract() -> None:
    document: Document = THROUGH
    assert document.to_document()["relayHoursUsd"] == [0.02, 0.02, 0.02]
