"""A transfer whose one pair has joined, and the events that end its relays."""

from typing import Any

from lambdas.core.fleet.relay_node import Node
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import SHARED, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned
from tests.lambdas.machine_ends import of_ec2
from tests.lambdas.told import CONTROL


def joined(*, sent: int = 0) -> Cloud:
    cloud = spawned(1)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    cloud.agents.progresses[SHARED, "s0"] = progress(3, sent=sent, rate=40.0)
    return cloud


def relay_lost(node_id: str = "source-1-0") -> BusEvent:
    detail: dict[str, Any] = {
        "schemaVersion": 1,
        "type": "Relay Lost",
        "transferId": "first",
        "pathId": "pair-1",
        "nodeId": node_id,
        "message": "connection reset",
    }
    return BusEvent.from_document({"detail-type": "Relay Lost", "source": CONTROL, "detail": detail})


def relay_slow(node_id: str = "source-1-0") -> BusEvent:
    detail: dict[str, Any] = {
        "schemaVersion": 1,
        "type": "Relay Slow",
        "transferId": "first",
        "nodeId": node_id,
        "rateMBps": 4.0,
        "expectedMBps": 40.0,
        "message": "slow: 4.0 of 40.0 MB/s for 30 s",
    }
    return BusEvent.from_document({"detail-type": "Relay Slow", "source": CONTROL, "detail": detail})


def relay(cloud: Cloud, node_id: str) -> Node:
    return next(node for node in cloud.nodes.of("first") if node.node_id == node_id)


def instance_event(cloud: Cloud, kind: str, **detail: str) -> BusEvent:
    return of_ec2(kind, relay(cloud, "source-1-0").instance_id, **detail)
