"""A transfer whose relays stand on a route through a third region, from launch to teardown."""

from collections.abc import Sequence
from typing import Any

import pytest

from lambdas.adapters.records import ProbeResult
from lambdas.core.documents import Document
from lambdas.core.errors import MeasuringFailed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.fleet import node_life
from lambdas.core.fleet.membership import Membership, TransferPath
from lambdas.core.fleet.relay_node import Node
from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.learning.samples import links_of, samples_of
from lambdas.core.places.machines import TransitRegion
from lambdas.core.record import transfer_life
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.await_measured_relays import await_measured_relays
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.join_relays import JoinInput, join_relays
from lambdas.handlers.states.measure_relays import measure_relays
from lambdas.handlers.states.pre_test_relays import PreTestInput, pre_test_relays
from lambdas.handlers.states.spawn_measured_relays import spawn_measured_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.operations.fleet.replacement import Failing, replace
from tests.lambdas.builders import IRELAND, SHARED, WEST, estimate, figure, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import ROUTE_KEY, begin, path_ids, states

FRANKFURT = "eu-central-1"


def accepted(**changes: Any) -> AcceptedTransfer:
    asked = transfer(relays={"through": [FRANKFURT], "instanceTypes": ["t3.small"]}, **changes)
    return asked.model_copy(update={"transit": [TransitRegion(region=FRANKFURT, vpc_id="vpc-transit")]})


def use(stage: int, regions: list[str], relays: list[int]) -> RouteUse:
    hours = [0.02] * len(regions)
    return RouteUse(stage=stage, regions=regions, relays=relays, rate=figure(20), usd_per_gb=0.04, hours_usd=hours)


def routed(*uses: RouteUse) -> Estimate:
    plain = estimate(2)
    rows = [row.model_copy(update={"planned": list(uses)}) if row.pairs == 2 else row for row in plain.rows]
    return plain.model_copy(update={"rows": rows})


def launched(chosen: Estimate, asked: AcceptedTransfer | None = None, third: Sequence[str] = (FRANKFURT,)) -> Cloud:
    cloud, asked = Cloud(third=third), asked or accepted()
    begin(cloud, asked, chosen)
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="54.1.0.1:4601", lanes=2)
    cloud.agents.write_membership(SHARED, Membership(version=1, paths=[direct]))
    cloud.agents.route_keys[SHARED] = ROUTE_KEY
    spawn = spawn_measured_relays if asked.request.profile == "measure" else spawn_relays
    spawn(SpawnInput(transfer=asked, estimate=chosen), cloud.world)
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
    rows = [row.model_copy(update={"planned": joined}) if row.pairs == 4 else row for row in plain.rows]
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


INTO_RECEIVER = use(5, [WEST, IRELAND], [2, 0])
THROUGH_INTO_RECEIVER = use(6, [WEST, FRANKFURT, IRELAND], [1, 2, 0])


def test_relays_of_a_last_stage_that_has_none_send_straight_to_the_receiver() -> None:
    cloud = served(INTO_RECEIVER, THROUGH_INTO_RECEIVER)
    assert path_ids(cloud) == ["direct", "route-5-1", "route-5-2", "route-6-1-1", "route-6-1-2"]
    membership = cloud.agents.membership(SHARED)
    assert membership is not None
    assert [len(path.hops) for path in membership.paths] == [0, 1, 1, 2, 2]
    # All of them come from other regions, to the address by which these know the receiver.
    assert {path.receiver for path in membership.paths} == {"54.1.0.1:4601"}
    assert [len(compute.of_transfer("first")) for compute in cloud.compute.values()] == [3, 0, 2]


def test_receiver_admits_exactly_the_last_relays() -> None:
    cloud = served(INTO_RECEIVER, THROUGH_INTO_RECEIVER)
    last = [node for node in cloud.nodes.of("first") if node.stage in (5, 7)]
    let_in = {(rule.group_id, rule.address, rule.port) for rule in cloud.groups[IRELAND].admitted}
    assert let_in == {("vpc-destination/cpt-endpoint", node.public_address, 4601) for node in last}


def test_lost_relay_that_sends_straight_is_replaced() -> None:
    cloud = served(INTO_RECEIVER)
    node = next(node for node in cloud.nodes.of("first") if node.slot == 2)
    assert replace(cloud.world, node, Failing("lost", "killed by the test")) == "replaced"
    assert path_ids(cloud) == ["direct", "route-5-1", "route-5-2"]


def test_nothing_is_left_of_relays_that_send_straight() -> None:
    cloud = served(INTO_RECEIVER, THROUGH_INTO_RECEIVER)
    event: dict[str, Any] = {"transfer_id": "first", "execution_arn": accepted().execution_arn}
    tear_down(TearDownInput(**event), cloud.world)
    assert cloud.alive() == []
    assert [rule for groups in cloud.groups.values() for rule in groups.rules()] == []


def test_document_of_a_route_has_the_fields_of_its_contract() -> None:
    document: Document = THROUGH
    assert document.to_document()["relayHoursUsd"] == [0.02, 0.02, 0.02]


def answering(rates: dict[str, tuple[float, ...]], *uses: RouteUse, **changes: Any) -> Cloud:
    """A transfer whose relays are ready, and whose sender answers each probe with MB/s hop by hop."""
    asked = accepted(preTest=True, **changes)
    cloud = launched(routed(*uses).model_copy(update={"pre_test": True}), asked)
    await_relays(AwaitInput(transfer=asked), cloud.world)
    original = cloud.agents.write_membership

    def write(shared: str, membership: Membership) -> bool:
        for probe in membership.probes:
            hops = rates.get(probe.path.path_id, ())
            whole = len(hops) == len(probe.path.hops) - 1
            answer = ProbeResult(
                probe.path.path_id, probe.path.generation, min(hops) if whole else 0.0, 150.0 if whole else 0.0,
                None if whole else "connect: refused", hops,
            )  # fmt: skip
            cloud.agents.results.setdefault(shared, []).append(answer)
        return original(shared, membership)

    cloud.agents.write_membership = write  # type: ignore[method-assign]
    return cloud


def pre_tested(cloud: Cloud) -> list[str]:
    found = pre_test_relays(PreTestInput(transfer=accepted()), cloud.world)
    assert found["ranking"] == []
    join_relays(JoinInput(transfer=accepted()), cloud.world)
    return list(found["rejected"])


def test_every_hop_of_every_route_is_measured_and_noted_and_those_that_pay_join() -> None:
    cloud = answering({"pair-1": (20.0,), "route-2-1-1-1": (60.0, 40.0)}, STRAIGHT, THROUGH)
    assert pre_tested(cloud) == []
    assert path_ids(cloud) == ["direct", "pair-1", "route-2-1-1-1"]
    told = {node.node_id: (node.measured_inter_region, node.measured_hop) for node in cloud.nodes.of("first")}
    assert told == {
        "source-1-0": (20.0, 20.0),
        "destination-1-0": (20.0, None),
        "source-2-1-0": (40.0, 60.0),
        "transit-3-1-0": (40.0, 40.0),
        "destination-4-1-0": (40.0, None),
    }


def test_route_that_turns_out_too_slow_is_not_joined_and_the_report_says_why() -> None:
    slow = {"pair-1": (20.0,), "route-2-1-1-1": (60.0, 0.1)}
    cloud = answering(slow, STRAIGHT, THROUGH, objective={"minimise": "cost", "deadlineSeconds": 40})
    assert pre_tested(cloud) == ["route-2-1-1-1"]
    assert path_ids(cloud) == ["direct", "pair-1"]
    assert len(cloud.alive()) == 2
    assert states(cloud)["transit-3-1-0"] == "REJECTED"
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.spawned is not None
    (note,) = [note for note in record.spawned.notes if "pre-test" in note]
    assert note == (
        "3 relays through eu-central-1 were released after the pre-test: the pre-test: 60.0, 0.1 MB/s hop by hop"
    )


def test_path_of_which_a_hop_cannot_be_measured_is_given_up_with_what_was_measured_before() -> None:
    cloud = answering({"pair-1": (20.0,), "route-2-1-1-1": (60.0,)}, STRAIGHT, THROUGH)
    assert pre_tested(cloud) == ["route-2-1-1-1"]
    lost = {node.node_id: node for node in cloud.nodes.of("first")}["source-2-1-0"]
    assert (lost.state, lost.measured_hop) == ("REJECTED", 60.0)


def test_each_link_learns_what_the_pre_test_found_of_its_hop() -> None:
    cloud = answering({"route-2-1-1-1": (60.0, 40.0)}, THROUGH)
    pre_tested(cloud)
    samples = samples_of(accepted(), Arrivals(), cloud.nodes.of("first"), {})
    rates = {one.link: one.value for one in samples if one.metric == "interRegion"}
    assert rates == {f"{WEST}>{FRANKFURT}": 60.0, f"{FRANKFURT}>{IRELAND}": 40.0}
    assert [one.link for one in samples if one.metric == "intraRegion"] == [f"{WEST}>{FRANKFURT}"]


def measuring(rates: dict[str, float]) -> tuple[Cloud, AcceptedTransfer]:
    """One relay in each of three regions is ready; `rates`: what the sender answers to each probe, MB/s."""
    asked = accepted(profile="measure")
    alone = use(2, [WEST, FRANKFURT, IRELAND], [0, 1, 0])
    cloud = launched(routed(STRAIGHT, alone).model_copy(update={"pre_test": True}), asked)
    cloud.tokens.put("first", "token", 1)
    await_measured_relays(AwaitInput(transfer=asked), cloud.world)
    original = cloud.agents.write_membership

    def write(shared: str, membership: Membership) -> bool:
        for probe in membership.probes:
            name = probe.path.path_id
            if name in rates:
                inside = 150.0 if name in ("link-0-1", "link-0-3") else 0.0
                answer = ProbeResult(name, probe.path.generation, rates[name], inside, None, (rates[name],))
                cloud.agents.results.setdefault(shared, []).append(answer)
        return original(shared, membership)

    cloud.agents.write_membership = write  # type: ignore[method-assign]
    return cloud, asked


ALL = {"direct": 10.0, "link-0-1": 20.0, "link-0-3": 60.0, "link-3-1": 40.0}


def test_one_relay_in_each_region_measures_every_link_and_nothing_moves() -> None:
    cloud, asked = measuring(ALL)
    assert {region: len(compute.of_transfer("first")) for region, compute in cloud.compute.items()} == {
        WEST: 1,
        FRANKFURT: 1,
        IRELAND: 1,
    }
    measure_relays(PreTestInput(transfer=asked), cloud.world)
    ((kind, (_, outcome)),) = cloud.executions.answers
    assert kind == "success"
    measured = outcome["measured"]
    assert {(one["fromRegion"], one["toRegion"]): one["interRegionMBps"] for one in measured["links"]} == {
        (WEST, IRELAND): 20.0,
        (WEST, FRANKFURT): 60.0,
        (FRANKFURT, IRELAND): 40.0,
    }
    assert (measured["directMBps"], measured["pairs"][0]["interRegionMBps"]) == (10.0, 20.0)
    assert measured["sentBytes"] == round(130e6 * cloud.world.pre_test_seconds(asked.request))


def test_each_link_is_taught_once_by_an_execution_that_measures() -> None:
    cloud, asked = measuring(ALL)
    measure_relays(PreTestInput(transfer=asked), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    nodes = cloud.nodes.of("first")
    samples = samples_of(asked, Arrivals(), nodes, {}, 10.0) + links_of(asked, record.measured)
    rates = [(one.link, one.value) for one in samples if one.metric == "interRegion"]
    assert sorted(rates, key=str) == [
        (f"{FRANKFURT}>{IRELAND}", 40.0),
        (f"{WEST}>{FRANKFURT}", 60.0),
        (None, 20.0),
    ]
    assert [one.link for one in samples if one.metric == "spawn"] == [None, None, f"{FRANKFURT}>{IRELAND}"]


def test_link_that_cannot_be_measured_is_reported_with_its_reason_and_teaches_nothing() -> None:
    cloud, asked = measuring({name: rate for name, rate in ALL.items() if name != "link-3-1"})
    measure_relays(PreTestInput(transfer=asked), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.measured is not None
    (silent,) = [link for link in record.measured.links or [] if link.error]
    assert (silent.from_region, silent.inter_region, silent.error) == (FRANKFURT, 0.0, "the sender did not answer")
    assert [one.link for one in links_of(asked, record.measured)] == [f"{WEST}>{FRANKFURT}"]


def test_third_region_whose_relay_is_not_ready_is_left_out() -> None:
    cloud, asked = measuring(ALL)
    (third,) = [one for one in cloud.nodes.of("first") if one.region == FRANKFURT]
    cloud.nodes.change(third, node_life.lose("gone", cloud.clock.now()))
    measure_relays(PreTestInput(transfer=asked), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.measured is not None
    assert [(one.from_region, one.to_region) for one in record.measured.links or []] == [(WEST, IRELAND)]


def test_without_a_relay_beside_each_end_measuring_fails_and_leaves_none() -> None:
    cloud, asked = measuring(ALL)
    (last,) = [one for one in cloud.nodes.of("first") if one.region == IRELAND]
    cloud.nodes.change(last, node_life.lose("gone", cloud.clock.now()))
    with pytest.raises(MeasuringFailed, match="gone"):
        measure_relays(PreTestInput(transfer=asked), cloud.world)
    assert [one.region for one in cloud.nodes.of("first") if one.state == "READY"] == []
