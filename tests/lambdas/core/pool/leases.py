"""Nodes and leases for tests of how a pool is divided."""

from typing import Any

from lambdas.core.pool.pool_node import Lease, LeaseLimit, PoolNode

NODES = ("i-0aaaaaaa1", "i-0aaaaaaa2")


def node(number: int = 1, leases: int = 1, **changes: Any) -> PoolNode:
    """One that serves, with 100 MB/s."""
    name = NODES[number - 1]
    fields = {
        "node_id": name,
        "region": "us-west-2",
        "zone": "us-west-2a",
        "instance_id": name,
        "instance_type": "c6in.large",
        "version": "1",
        "state": "SERVING",
        "capacity_mb_s": 100.0,
        "leases": leases,
        "requested_at": 0.0,
    }
    return PoolNode(**{**fields, **changes})


def lease(transfer: str, on: PoolNode, mb_s: float = 100.0, **changes: Any) -> Lease:
    """Given at 0, applied by the node, and listening at once."""
    fields = {
        "transfer_id": transfer,
        "node_id": on.node_id,
        "relay_id": "source-1-0",
        "tenant": "operator",
        "port": 4600,
        "limit": LeaseLimit(number=1, mb_s=mb_s, until=180.0),
        "until": 240.0,
        "epoch": 1,
        "given_at": 0.0,
        "listening_at": 0.0,
        "applied": 1,
    }
    return Lease(**{**fields, **changes})
