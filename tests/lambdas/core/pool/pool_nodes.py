"""Pool nodes for tests, valid unless a test spoils them."""

from typing import Any

from lambdas.core.pool.pool_node import PoolNode


def pool_node(**changes: Any) -> PoolNode:
    """A node that is free."""
    values: dict[str, Any] = {
        "node_id": "n1",
        "region": "eu-west-1",
        "zone": "eu-west-1a",
        "instance_id": "i-0aaaaaaaaaaaaaaa1",
        "instance_type": "c6in.large",
        "version": "v2",
        "state": "FREE",
        "capacity_mb_s": 100.0,
        "requested_at": 1000.0,
    }
    return PoolNode(**{**values, **changes})
