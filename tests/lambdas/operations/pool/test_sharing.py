"""Limits are told: less first, and more once nodes follow."""

from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool import pool_life
from lambdas.core.pool.pool_node import Lease, LeaseLimit
from lambdas.operations.pool import sharing
from tests.lambdas import builders, pools
from tests.lambdas.builders import WEST
from tests.lambdas.cloud import Cloud


def relay(transfer: str) -> Node:
    node = pools.node()
    return builders.node(
        transfer_id=transfer, instance_id=node.instance_id, region=WEST, node_id="source-1-0", provider="pool"
    )


def give(cloud: Cloud, transfer: str, mb_s: float) -> None:
    """A lease on the one node, which applies its limit."""
    node = cloud.pool.nodes(WEST)[0]
    change = pool_life.give(node, 2)
    assert change is not None
    given = Lease(
        transfer_id=transfer,
        node_id=node.node_id,
        relay_id="source-1-0",
        tenant="operator",
        port=4600 + node.leases,
        limit=LeaseLimit(number=1, mb_s=mb_s, until=cloud.clock.now() + 180),
        until=cloud.clock.now() + 240,
        epoch=node.epoch + 1,
        given_at=cloud.clock.now(),
    )
    assert cloud.pool.give(node, change, given)
    cloud.pool.applies(relay(transfer), 1, 0)


def limits(cloud: Cloud) -> dict[str, float]:
    return {one.transfer_id: one.limit.mb_s for one in cloud.pool.standing(cloud.pool.nodes(WEST)[0])[0]}


def follow(cloud: Cloud) -> None:
    """The node applies what its leases say by now."""
    for one in cloud.pool.standing(cloud.pool.nodes(WEST)[0])[0]:
        cloud.pool.applies(relay(one.transfer_id), one.limit.number, one.bytes)


def two(cloud: Cloud) -> None:
    assert cloud.pool.put(pools.node())
    give(cloud, "first", 100.0)
    give(cloud, "second", 0.0)


def test_who_comes_has_his_share_in_the_same_look_where_the_node_follows() -> None:
    cloud = Cloud(pool_regions={WEST: pools.settings(WEST)})
    two(cloud)
    cloud.clock.at(1, lambda: follow(cloud))
    assert sharing.share(cloud.world, WEST) == 2
    assert limits(cloud) == {"first": 50.0, "second": 50.0}


def test_nobody_has_more_than_there_is_where_the_node_does_not_follow() -> None:
    cloud = Cloud(pool_regions={WEST: pools.settings(WEST)})
    two(cloud)
    began = cloud.clock.monotonic()
    assert sharing.share(cloud.world, WEST) == 1
    assert limits(cloud) == {"first": 50.0, "second": 0.0}
    assert cloud.clock.monotonic() - began <= sharing.FOLLOW_SECONDS + sharing.POLL_SECONDS
    follow(cloud)
    sharing.share(cloud.world, WEST)
    assert limits(cloud) == {"first": 50.0, "second": 50.0}


def test_limits_are_renewed_each_minute_and_nothing_is_written_in_between() -> None:
    cloud = Cloud(pool_regions={WEST: pools.settings(WEST)})
    assert cloud.pool.put(pools.node())
    give(cloud, "first", 100.0)
    assert sharing.share(cloud.world, WEST) == 0
    cloud.clock.sleep(60)
    assert sharing.share(cloud.world, WEST) == 1
    (lease,) = cloud.pool.leases.values()
    assert lease.limit.until == cloud.clock.now() + 180
