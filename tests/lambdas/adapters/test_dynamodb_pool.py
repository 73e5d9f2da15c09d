"""One suite for the pool's store, in memory and in DynamoDB."""

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_pool import DynamoPoolStore
from lambdas.adapters.pool_stores import PoolStore
from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool import pool_life
from lambdas.core.pool.lease_share import LeaseShare, lease_key
from lambdas.core.pool.pool_node import Lease, LeaseLimit, PoolNode
from lambdas.core.pool.size import Need
from lambdas.core.transfer.partition import machine_arn
from tests.lambdas import builders, pools
from tests.lambdas.builders import WEST
from tests.lambdas.memory.pool import MemoryPoolStore

BESIDE = "arn:aws:states:us-west-2:000000000000:stateMachine:cpt-transfer"


@pytest.fixture
def pool(tables: dict[str, Table]) -> PoolStore:
    return DynamoPoolStore(tables["pool"], BESIDE) if tables else MemoryPoolStore()


def lease_on(node: PoolNode, transfer_id: str = "first") -> Lease:
    return Lease(
        transfer_id=transfer_id,
        node_id=node.node_id,
        relay_id="source-1-0",
        tenant="operator",
        port=4600,
        limit=LeaseLimit(number=1, mb_s=100.0, until=1180.0),
        until=1240.0,
        epoch=node.epoch + 1,
        given_at=1000.0,
    )


def relay_on(node: PoolNode) -> Node:
    return builders.node(instance_id=node.instance_id, region=node.region, node_id="source-1-0", provider="pool")


def given(pool: PoolStore) -> tuple[PoolNode, Lease]:
    node = pools.node()
    assert pool.put(node)
    change = pool_life.give(node, 2)
    assert change is not None
    assert pool.give(node, change, lease_on(node))
    return pool.nodes(WEST)[0], lease_on(node)


def test_nodes_are_those_of_their_region(pool: PoolStore) -> None:
    node = pools.node()
    assert pool.put(node)
    assert not pool.put(pools.node())
    assert pool.nodes(WEST) == [node]
    assert pool.nodes("eu-north-1") == []


def test_a_change_finds_the_state_and_the_leases_that_its_rule_names(pool: PoolStore) -> None:
    node = pools.node(state="STARTING", ready_at=None, idle_since=None)
    pool.put(node)
    ready = pool.change(node, pool_life.get_ready(930.0))
    assert ready is not None
    assert (ready.state, ready.idle_since) == ("FREE", 930.0)
    assert pool.change(node, pool_life.get_ready(940.0)) is None


def test_a_lease_and_its_count_are_written_together(pool: PoolStore) -> None:
    node, lease = given(pool)
    assert (node.state, node.leases, node.epoch, node.idle_since) == ("SERVING", 1, 1, None)
    assert pool.standing(node) == ([lease], None)
    assert pool.lease(relay_on(node)) == lease


def test_what_was_counted_from_an_older_item_gives_nothing(pool: PoolStore) -> None:
    node, _ = given(pool)
    late = pool_life.give(pools.node(), 2)
    assert late is not None
    assert not pool.give(pools.node(), late, lease_on(node, "second"))
    assert len(pool.standing(node)[0]) == 1


def test_a_lease_is_taken_back_once(pool: PoolStore) -> None:
    node, lease = given(pool)
    change = pool_life.take_back(node, 1100.0)
    assert pool.take_back(node, change, lease, 1100.0)
    assert not pool.take_back(node, change, lease, 1101.0)
    after = pool.nodes(WEST)[0]
    assert (after.state, after.leases, after.idle_since) == ("FREE", 0, 1100.0)
    assert pool.standing(after)[0][0].ended_at == 1100.0
    assert not pool.command(relay_on(node), "e30")


def test_a_lease_of_a_node_that_has_ended_ends_alone(pool: PoolStore) -> None:
    node, lease = given(pool)
    assert pool.change(node, pool_life.lose("gone", 1100.0))
    assert pool.take_back(node, None, lease, 1100.0)
    assert not pool.take_back(node, None, lease, 1100.0)


def test_a_command_and_a_later_end_are_told_to_a_live_lease(pool: PoolStore) -> None:
    node, lease = given(pool)
    assert pool.command(relay_on(node), "e30")
    pool.renew(node, lease, 2000.0)
    pool.limit(node, lease, LeaseLimit(number=2, mb_s=40.0, until=1900.0), 10.0)
    told = pool.lease(relay_on(node))
    assert told is not None
    assert (told.command, told.until, told.guarantee_mb_s) == ("e30", 2000.0, 10.0)
    assert told.limit == LeaseLimit(number=2, mb_s=40.0, until=1900.0)


def test_shares_are_kept_for_the_next_division_and_those_of_leases_that_have_gone_are_not(pool: PoolStore) -> None:
    one, other = (LeaseShare.of_new(lease_on(pools.node(number=number))) for number in (1, 2))
    keys = [lease_key(lease_on(pools.node(number=number))) for number in (1, 2)]
    pool.put_shares(WEST, dict(zip(keys, (one, other), strict=True)))
    assert pool.shares(WEST) == dict(zip(keys, (one, other), strict=True))
    pool.put_shares(WEST, {keys[1]: other})
    assert (pool.shares(WEST), pool.shares("eu-north-1")) == ({keys[1]: other}, {})


def test_what_is_forgotten_is_gone_with_all_that_was_written_for_it(pool: PoolStore) -> None:
    node, lease = given(pool)
    pool.keep_alive(node, 2000.0)
    pool.forget_lease(node, lease)
    assert pool.standing(node)[0] == []
    pool.forget(node)
    assert pool.nodes(WEST) == []
    assert pool.lease(relay_on(node)) is None


def test_needs_are_kept_for_the_next_look(pool: PoolStore) -> None:
    assert pool.needs(WEST) == []
    pool.put_needs(WEST, (Need(until=1000.0, nodes=2),))
    assert pool.needs(WEST) == [Need(until=1000.0, nodes=2)]


def test_one_look_goes_on_at_a_time_and_one_that_died_is_waited_for(pool: PoolStore) -> None:
    assert pool.begin_look(WEST, 1000.0, 1150.0)
    assert not pool.is_called_again(WEST, 1150.0)
    assert not pool.begin_look(WEST, 1001.0, 1151.0)
    assert pool.is_called_again(WEST, 1150.0)
    assert not pool.is_called_again(WEST, 1150.0), "once"
    assert pool.begin_look("eu-north-1", 1001.0, 1151.0)
    pool.end_look(WEST, 1150.0)
    assert pool.begin_look(WEST, 1002.0, 1152.0)
    assert pool.begin_look(WEST, 1152.0, 1302.0), "it has died"
    pool.end_look(WEST, 1152.0)
    assert not pool.begin_look(WEST, 1153.0, 1303.0), "the one that died ends no other's look"


def test_what_only_its_node_has_written_is_no_lease_and_nonsense_is_not_heard(tables: dict[str, Table]) -> None:
    if not tables:
        return
    pool, table = DynamoPoolStore(tables["pool"], BESIDE), tables["pool"]
    node, lease = given(pool)
    arn = machine_arn(BESIDE, WEST, node.instance_id)
    its_own = {"machine": arn, "record": "lease#first#source-1-0"}
    for name, value in {"listeningAt": "never", "failed": 7, "stoppedAt": [], "applied": -1, "bytes": "all"}.items():
        names, values = {"#name": name}, {"value": value}
        assert table.update(its_own, "SET #name = :value", None, names, **values)
        assert pool.standing(node) == ([lease], None), name
        table.update(its_own, "REMOVE #name", None, names)
    table.put({"machine": arn, "record": "lease#other#source-1-0", "listeningAt": 5})
    table.put({"machine": arn, "record": "said", "saidAt": "always"})
    assert pool.standing(node) == ([lease], None)


def test_what_is_written_for_a_node_lies_under_its_own_arn(tables: dict[str, Table]) -> None:
    if tables:
        node, _ = given(DynamoPoolStore(tables["pool"], BESIDE))
        arn = machine_arn(BESIDE, WEST, node.instance_id)
        items = list(tables["pool"].query("machine = :machine", machine=arn))
        assert [item["record"] for item in items] == ["lease#first#source-1-0"]
