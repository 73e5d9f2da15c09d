"""Leases of the pool: what a transfer gets, what becomes of it, and who gives it back."""

from typing import Any

import pytest

from lambdas.core.errors import LaunchRefused, NoCapacity
from lambdas.core.fleet.membership import RELAY_PORT, Membership, TransferPath
from lambdas.core.fleet.reconcile import Lease
from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool import pool_life
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.release_relays import ReleaseInput, release_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.fence import estimated
from lambdas.operations.fleet import hand
from lambdas.operations.fleet.providers import pool
from lambdas.operations.named import transfer as record_of
from tests.lambdas import pools
from tests.lambdas.builders import IRELAND, SHARED, WEST, estimate, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.pool.leases import lease
from tests.lambdas.fleet import ROUTE_KEY, begin, path_ids, states

ASKED: dict[str, Any] = {"instanceTypes": ["t3.small"]}


def cloud_with(nodes: int = 1, **changes: Any) -> Cloud:
    cloud = Cloud(pool_regions=pools.regions())
    pools.stand(cloud, nodes, **changes)
    cloud.agents.route_keys[SHARED] = ROUTE_KEY
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="54.1.0.1:4601", lanes=2)
    cloud.agents.write_membership(SHARED, Membership(version=1, paths=[direct]))
    return cloud


def spawn(cloud: Cloud, pairs: int = 1, **relays: Any) -> AcceptedTransfer:
    accepted = transfer(relays={**ASKED, **relays})
    wanted = estimate(pairs)
    begin(cloud, accepted, wanted)
    spawn_relays(SpawnInput(transfer=accepted, estimate=wanted), cloud.world)
    return accepted


def leases(cloud: Cloud) -> dict[str, int]:
    """How many each node counts."""
    return {node.node_id: node.leases for region in (WEST, IRELAND) for node in cloud.pool.nodes(region)}


def launched(cloud: Cloud) -> int:
    return sum(request.count for compute in cloud.compute.values() for request in compute.launches)


def test_whoever_comes_may_forward_what_nobody_on_the_node_does_and_the_pool_is_told() -> None:
    cloud = cloud_with()
    node = cloud.pool.nodes(WEST)[0]
    change = pool_life.give(node, 2)
    assert change is not None
    assert cloud.pool.give(node, change, lease("other", node, 30.0))
    spawn(cloud)
    began = {one.limit.mb_s for one in cloud.pool.leases.values() if one.transfer_id == "first"}
    assert began == {70.0, 100.0}
    assert ("Pool Leased", {"transferId": "first"}) in cloud.events.put_events


def test_a_transfer_gets_a_lease_on_each_side_and_launches_nothing() -> None:
    cloud = cloud_with()
    spawn(cloud)
    relays = cloud.nodes.of("first")
    assert [(relay.provider, relay.port) for relay in relays] == [("pool", RELAY_PORT)] * 2
    assert set(leases(cloud).values()) == {1}
    assert launched(cloud) == 0


def test_what_the_pool_lacks_is_launched() -> None:
    cloud = cloud_with(1)
    spawn(cloud, 2)
    assert sorted(relay.provider for relay in cloud.nodes.of("first")) == ["launched", "launched", "pool", "pool"]
    assert launched(cloud) == 2


@pytest.mark.parametrize("state", ["STARTING", "DRAINING"])
def test_a_node_that_takes_no_leases_is_passed_over(state: str) -> None:
    cloud = cloud_with(state=state, idle_since=None)
    spawn(cloud)
    assert {relay.provider for relay in cloud.nodes.of("first")} == {"launched"}


def test_a_request_may_do_without_the_pool() -> None:
    cloud = cloud_with()
    spawn(cloud, pool="none")
    assert {relay.provider for relay in cloud.nodes.of("first")} == {"launched"}
    assert set(leases(cloud).values()) == {0}


def test_a_request_for_the_pool_alone_launches_nothing() -> None:
    cloud = cloud_with(1)
    spawn(cloud, 2, pool="only")
    assert [relay.provider for relay in cloud.nodes.of("first")] == ["pool", "pool"]
    assert launched(cloud) == 0


def test_a_node_elsewhere_in_the_region_serves_nobody() -> None:
    cloud = cloud_with(vpc_id="vpc-another")
    spawn(cloud)
    assert {relay.provider for relay in cloud.nodes.of("first")} == {"launched"}


def test_of_two_that_want_the_last_lease_one_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = cloud_with(2)
    give = cloud.pool.give
    others: list[str] = []

    def another_first(node: Any, change: Any, lease: Any) -> bool:
        if not others:
            others.append(node.node_id)
            for _ in range(2):
                current = next(one for one in cloud.pool.nodes(node.region) if one.node_id == node.node_id)
                given = pool_life.give(current, 2)
                assert given is not None
                assert cloud.pool.change(current, given)
        return give(node, change, lease)

    monkeypatch.setattr(cloud.pool, "give", another_first)
    spawn(cloud)
    relays = cloud.nodes.of("first")
    assert {relay.provider for relay in relays} == {"pool"}
    assert others[0] not in {relay.instance_id for relay in relays}
    assert leases(cloud)[others[0]] == 2


def test_another_run_of_a_transfer_gets_a_lease_once_the_earlier_one_has_stopped() -> None:
    cloud = cloud_with()
    accepted = spawn(cloud, pool="only")
    earlier = cloud.nodes.of("first")
    pool.take_back(cloud.world, earlier)
    cloud.nodes.forget("first")
    record = estimated(cloud.world, "first")
    wanted = Lease("pool", 0, (1,))
    assert pool.lease(cloud.world, record, wanted) == [], "its daemon may still run"
    assert pool.lease(cloud.world, record, Lease("pool", 0, (2,))) == [], "a node runs one daemon of a transfer"
    for relay in earlier:
        cloud.pool.stops(relay, cloud.clock.now())
    assert [relay.node_id for relay in pool.lease(cloud.world, record, wanted)] == ["source-1-0"]
    held = cloud.pool.lease(cloud.nodes.of("first")[0])
    assert held is not None
    assert (held.is_live, held.stopped_at, accepted.transfer_id) == (True, None, held.transfer_id)


def test_a_port_is_not_given_again_before_its_daemon_has_ended() -> None:
    cloud = cloud_with()
    spawn(cloud)
    first = cloud.nodes.of("first")
    pool.take_back(cloud.world, first)
    record = record_of(cloud.world, "first")
    world = cloud.world
    cloud.nodes.forget("first")
    other = record.transfer.model_copy(update={"transfer_id": "second"})
    begin(cloud, other, estimate(1))
    spawn_relays(SpawnInput(transfer=other, estimate=estimate(1)), world)
    assert {relay.port for relay in cloud.nodes.of("second")} == {RELAY_PORT + 1}


def listen(cloud: Cloud) -> None:
    """Nodes do at once what they are told."""
    tell = cloud.pool.command

    def done(relay: Node, command: str) -> bool:
        told = tell(relay, command)
        cloud.pool.listens(relay, cloud.clock.now())
        return told

    cloud.pool.command = done  # type: ignore[method-assign]


def test_a_lease_joins_once_its_node_says_that_it_listens_and_no_command_is_sent() -> None:
    cloud = cloud_with()
    listen(cloud)
    began = cloud.clock.now()
    accepted = spawn(cloud)
    assert await_relays(AwaitInput(transfer=accepted), cloud.world) == {"ready": 1}
    assert set(states(cloud).values()) == {"JOINED"}
    assert path_ids(cloud) == ["direct", "pair-1"]
    assert not [sent for commands in cloud.commands.values() for sent in commands.sent if sent[0] == "relay"]
    assert cloud.clock.now() - began < 1.0


def test_rules_admit_each_hop_on_the_port_of_its_lease() -> None:
    cloud = cloud_with()
    listen(cloud)
    accepted = spawn(cloud)
    await_relays(AwaitInput(transfer=accepted), cloud.world)
    relays = {relay.region: relay for relay in cloud.nodes.of("first")}
    rules = {(rule.address, rule.port) for rule in cloud.groups[IRELAND].rules()}
    assert (relays[WEST].public_address, relays[IRELAND].port) in rules
    assert (relays[IRELAND].private_address, accepted.receiver_port) in rules


def test_a_lease_that_cannot_start_ends_with_its_node_s_words() -> None:
    cloud = cloud_with()
    tell = cloud.pool.command

    def refuse(relay: Node, command: str) -> bool:
        told = tell(relay, command)
        cloud.pool.fails(relay, "no room")
        return told

    cloud.pool.command = refuse  # type: ignore[method-assign]
    accepted = spawn(cloud)
    assert await_relays(AwaitInput(transfer=accepted), cloud.world) == {"ready": 0}
    assert {relay.reason for relay in cloud.nodes.of("first") if "no room" in (relay.reason or "")}
    assert set(leases(cloud).values()) == {0}


def test_leases_end_with_the_data_whoever_ended_the_relay_before() -> None:
    cloud = cloud_with()
    listen(cloud)
    accepted = spawn(cloud)
    await_relays(AwaitInput(transfer=accepted), cloud.world)
    release_relays(ReleaseInput(transfer=accepted), cloud.world)
    assert set(leases(cloud).values()) == {0}
    assert {node.state for region in (WEST, IRELAND) for node in cloud.pool.nodes(region)} == {"FREE"}
    assert not [one for compute in cloud.compute.values() for one in compute.terminated]
    assert pool.take_back(cloud.world, cloud.nodes.of("first")) == 0, "each lease is counted out once"


def test_a_relay_that_is_lost_is_replaced_from_the_pool_and_not_on_its_machine() -> None:
    cloud = cloud_with(2)
    listen(cloud)
    accepted = spawn(cloud)
    await_relays(AwaitInput(transfer=accepted), cloud.world)
    lost = next(relay for relay in cloud.nodes.of("first") if relay.region == WEST)
    hand.lease_successor(cloud.world, estimated(cloud.world, "first"), lost, 1)
    successor = next(relay for relay in cloud.nodes.of("first") if relay.generation == 1)
    assert (successor.provider, successor.instance_id != lost.instance_id) == ("pool", True)


def test_without_a_lease_left_a_request_for_the_pool_alone_has_no_successor() -> None:
    cloud = cloud_with(1)
    spawn(cloud, pool="only")
    lost = cloud.nodes.of("first")[0]
    with pytest.raises((NoCapacity, LaunchRefused), match="only"):
        hand.lease_successor(cloud.world, estimated(cloud.world, "first"), lost, 1)


def test_the_estimate_knows_which_pairs_no_machine_has_to_boot_for() -> None:
    cloud = cloud_with(2)
    assert pool.pairs(cloud.world, transfer()) == 2
    assert pool.pairs(cloud.world, transfer(relays={**ASKED, "pool": "none"})) == 0
    first = cloud.pool.nodes(WEST)[0]
    assert cloud.pool.change(first, pool_life.drain("old", 1.0))
    assert pool.pairs(cloud.world, transfer()) == 1
    assert pool.pairs(Cloud().world, transfer()) == 0


def test_the_weight_of_a_request_is_that_of_its_leases() -> None:
    cloud = cloud_with()
    spawn(cloud, weight=3)
    assert {lease.weight for lease in cloud.pool.leases.values()} == {3.0}
