"""The minute's look at a pool: nodes begin, serve, and end; what died in between is found by the next look."""

from typing import Any

import pytest

from lambdas.adapters.world import World
from lambdas.core.fleet import node_life
from lambdas.core.pool import pool_life
from lambdas.core.pool.pool_node import PoolNode
from lambdas.core.pool.price_wait import PriceWait
from lambdas.core.record import transfer_life
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.fleet.providers.pool import LEASE_SECONDS
from lambdas.operations.pool import keeping, sharing
from tests.lambdas import pools
from tests.lambdas.builders import SHARED, WEST, estimate, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import ROUTE_KEY, begin, dies


def cloud_with(**changes: Any) -> Cloud:
    return Cloud(pool_regions={WEST: pools.settings(WEST, **changes)})


def keep(cloud: Cloud, seconds: float = 60.0) -> keeping.Kept:
    """A look, so long after the one before."""
    cloud.clock.sleep(seconds)
    for node in cloud.pool.nodes(WEST):
        if node.running_at is not None:
            cloud.pool.says(node.instance_id, cloud.clock.now())
    kept = keeping.keep(cloud.world, WEST)
    assert kept is not None
    return kept


def nodes(cloud: Cloud) -> list[PoolNode]:
    return cloud.pool.nodes(WEST)


def states(cloud: Cloud) -> list[str]:
    return [node.state for node in nodes(cloud)]


def free(cloud: Cloud) -> None:
    """Looks until the least number takes leases."""
    for _ in range(4):
        keep(cloud)
    assert states(cloud) == ["FREE"]


def lease(cloud: Cloud) -> None:
    """A transfer begins, and has a lease on the node."""
    cloud.agents.route_keys[SHARED] = ROUTE_KEY
    begin(cloud, transfer(), estimate(1))
    spawn_relays(SpawnInput(transfer=transfer(), estimate=estimate(1)), cloud.world)
    assert states(cloud) == ["SERVING"]


def test_the_least_number_of_nodes_stands_there_before_anybody_asks() -> None:
    cloud = cloud_with()
    assert keep(cloud).started == 1
    assert states(cloud) == ["STARTING"]
    free(cloud)
    (request,) = cloud.compute[WEST].launches
    assert (request.transfer_id, request.instance_type) == (None, "c6in.large")
    assert cloud.pool.kept[nodes(cloud)[0].instance_id] > cloud.clock.now()


def test_a_machine_that_was_launched_and_not_noted_is_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = cloud_with()
    with monkeypatch.context() as patch:
        patch.setattr(cloud.pool, "put", dies)
        with pytest.raises(RuntimeError):
            keep(cloud)
    keep(cloud)
    assert len(nodes(cloud)) == len(cloud.compute[WEST].of_pool()) == 1
    free(cloud)


def test_a_node_whose_machine_has_ended_is_lost_with_its_leases_and_another_one_comes() -> None:
    cloud = cloud_with()
    free(cloud)
    lease(cloud)
    first = nodes(cloud)[0]
    cloud.compute[WEST].terminate([first.instance_id])
    kept = keep(cloud)
    assert kept.started == 1
    assert sorted(states(cloud)) == ["ENDED", "STARTING"]
    assert not [one for one in cloud.pool.leases.values() if one.node_id == first.node_id and one.is_live]


def test_a_node_that_ends_young_is_lost_at_once_and_one_that_ec2_does_not_show_yet_is_waited_for() -> None:
    cloud = cloud_with()
    keep(cloud)
    node = nodes(cloud)[0]
    cloud.compute[WEST].shown_after = 1000.0
    keep(cloud, 1)
    assert states(cloud) == ["STARTING"]
    cloud.compute[WEST].shown_after = 0.0
    cloud.compute[WEST].terminate([node.instance_id])
    keep(cloud, 1)
    assert sorted(states(cloud)) == ["ENDED", "STARTING"]


def test_a_node_that_says_nothing_is_terminated() -> None:
    cloud = cloud_with()
    free(cloud)
    cloud.clock.sleep(keeping.SILENT_SECONDS + 1)
    keeping.keep(cloud.world, WEST)
    gone = [node for node in nodes(cloud) if node.state == "ENDED"]
    assert [node.reason for node in gone] == ["it has said nothing for 60 s"]
    assert gone[0].instance_id in cloud.compute[WEST].terminated


def test_a_node_that_says_it_will_live_is_not_believed() -> None:
    cloud = cloud_with()
    free(cloud)
    cloud.clock.sleep(keeping.SILENT_SECONDS + 1)
    cloud.pool.says(nodes(cloud)[0].instance_id, cloud.clock.now() + 1e9)
    keeping.keep(cloud.world, WEST)
    assert "ENDED" in states(cloud)


def test_two_looks_at_once_launch_what_one_does() -> None:
    cloud = cloud_with()
    beside: list[keeping.Kept | None] = []
    cloud.compute[WEST].on_launch = lambda: beside.append(keeping.keep(cloud.world, WEST))
    keeping.keep(cloud.world, WEST)
    assert (beside, states(cloud)) == ([None], ["STARTING"])


def test_a_look_that_is_turned_away_has_the_other_one_look_once_more() -> None:
    cloud = cloud_with()
    free(cloud)
    looked: list[float] = []
    divide = sharing.share

    def slow(world: World, region: str) -> int:
        looked.append(world.clock.now())
        if len(looked) == 1:
            assert keeping.keep(world, region) is None
        return divide(world, region)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharing, "share", slow)
        keeping.keep(cloud.world, WEST)
    assert len(looked) == 2


def test_a_node_that_never_says_that_it_takes_leases_is_given_up() -> None:
    cloud = cloud_with()
    keep(cloud)
    cloud.clock.sleep(400)
    keeping.keep(cloud.world, WEST)
    assert "ENDED" in states(cloud)
    assert "takes leases" in next(node.reason or "" for node in nodes(cloud) if node.state == "ENDED")


def test_a_lease_of_a_transfer_that_moves_is_renewed() -> None:
    cloud = cloud_with()
    free(cloud)
    lease(cloud)
    keep(cloud, 70)
    (held,) = [one for one in cloud.pool.leases.values() if one.is_live]
    assert held.until > cloud.clock.now() + 200
    assert states(cloud)[0] == "SERVING"


def test_a_lease_of_a_transfer_that_is_over_is_taken_back_though_its_function_died() -> None:
    cloud = cloud_with()
    free(cloud)
    lease(cloud)
    for relay in cloud.nodes.of("first"):
        cloud.nodes.change(relay, node_life.take_down(cloud.clock.now()))
    keep(cloud, 70)
    assert states(cloud) == ["FREE"]
    (ended,) = cloud.pool.leases.values()
    assert not ended.is_live
    keep(cloud)
    assert cloud.pool.leases, "its daemon may still run"
    relay = next(relay for relay in cloud.nodes.of("first") if relay.provider == "pool")
    cloud.pool.stops(relay, cloud.clock.now())
    keep(cloud)
    assert not cloud.pool.leases


def test_a_lease_whose_relay_was_never_written_is_taken_back() -> None:
    cloud = cloud_with()
    free(cloud)
    lease(cloud)
    cloud.nodes.forget("first")
    keep(cloud, 70)
    assert states(cloud)[0] == "FREE"


def test_a_lease_that_its_node_has_stopped_while_nobody_looked_is_taken_back() -> None:
    cloud = cloud_with()
    free(cloud)
    lease(cloud)
    cloud.clock.sleep(LEASE_SECONDS)
    relay = next(relay for relay in cloud.nodes.of("first") if relay.provider == "pool")
    cloud.pool.stops(relay, cloud.clock.now())
    keep(cloud)
    assert states(cloud) == ["FREE"]
    assert not any(one.is_live for one in cloud.pool.leases.values())


def test_nodes_above_what_is_wanted_drain_after_the_idle_seconds_and_end() -> None:
    cloud = cloud_with(min=0, max=2, idleSeconds=120)
    begin(cloud, transfer(), estimate(1))
    for _ in range(4):
        keep(cloud)
    assert states(cloud) == ["FREE"]
    assert cloud.transfers.change(transfer(), transfer_life.FENCE)
    for _ in range(5):
        keep(cloud)
    assert states(cloud) == ["ENDED"]
    assert cloud.compute[WEST].of_pool() == []


def test_what_ended_long_ago_is_forgotten() -> None:
    cloud = cloud_with()
    free(cloud)
    node = nodes(cloud)[0]
    cloud.pool.change(node, pool_life.lose("gone", cloud.clock.now()))
    cloud.compute[WEST].terminate([node.instance_id])
    keep(cloud, keeping.SHOWN_SECONDS + 120)
    assert node.node_id not in {one.node_id for one in nodes(cloud)}


def test_who_waits_for_a_price_is_no_reason_for_a_larger_pool() -> None:
    cloud = cloud_with(min=0)
    accepted = transfer(relays={"maxUsdPerGB": 0.001, "startBy": "6h"})
    cloud.transfers.create(accepted)
    wait = PriceWait(since=1000.0, until=9000.0, most_usd_per_gb=0.001, wait_seconds=60)
    cloud.transfers.change(accepted, transfer_life.note(price_wait=wait))
    assert keep(cloud).wanted == 0
    cloud.transfers.change(accepted, transfer_life.note(price_wait=wait.model_copy(update={"wait_seconds": None})))
    assert keep(cloud).wanted == 1
