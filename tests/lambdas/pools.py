"""A pool in memory, at the stage that a test needs."""

from typing import Any

from lambdas.core.pool.pool_node import PoolNode
from lambdas.core.pool.size import PoolSettings
from tests.lambdas.builders import IRELAND, WEST
from tests.lambdas.cloud import Cloud

VPCS = {WEST: "vpc-source", IRELAND: "vpc-destination"}
NODES = {WEST: ("i-0aaaaaaa1", "i-0aaaaaaa2"), IRELAND: ("i-0bbbbbbb1", "i-0bbbbbbb2")}


def settings(region: str, **changes: Any) -> PoolSettings:
    given = {"region": region, "min": 1, "max": 2, "instanceType": "c6in.large", "leasesPerNode": 2, **changes}
    return PoolSettings.from_document(given)


def regions(**changes: Any) -> dict[str, PoolSettings]:
    """What `Cloud(pool_regions=…)` takes."""
    return {region: settings(region, **changes) for region in (WEST, IRELAND)}


def node(region: str = WEST, number: int = 1, **changes: Any) -> PoolNode:
    """A node that takes leases."""
    instance = NODES[region][number - 1]
    fields = {
        "node_id": instance,
        "region": region,
        "zone": f"{region}a",
        "vpc_id": VPCS[region],
        "instance_id": instance,
        "instance_type": "c6in.large",
        "version": "1",
        "state": "FREE",
        "capacity_mb_s": 100.0,
        "requested_at": 900.0,
        "running_at": 910.0,
        "private_address": f"10.9.{len(region)}.{number}",
        "public_address": f"54.9.{len(region)}.{number}",
        "ready_at": 920.0,
        "idle_since": 920.0,
    }
    return PoolNode(**{**fields, **changes})


def stand(cloud: Cloud, count: int = 1, **changes: Any) -> None:
    """So many nodes in both regions, which take leases."""
    for region in (WEST, IRELAND):
        for number in range(1, count + 1):
            cloud.pool.put(node(region, number, **changes))
            cloud.pool.says(NODES[region][number - 1], cloud.clock.now())
