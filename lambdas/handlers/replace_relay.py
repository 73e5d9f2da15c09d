"""Relay Lost, instance stopped or terminated, spot warning: out of the membership at once, then a successor."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.events import RelayLost
from lambdas.core.fleet import LIVE_STATES, Node
from lambdas.operations.replace import replace
from lambdas.runtime.handler import BusEvent, event_rule

STATE_CHANGE = "EC2 Instance State-change Notification"
SPOT_WARNING = "EC2 Spot Instance Interruption Warning"
_LOST_STATES = frozenset({"stopping", "stopped", "shutting-down", "terminated"})


def replace_relay(event: BusEvent, world: World) -> dict[str, Any]:
    """What was done for each relay that the event names; a relay that is known to be lost needs nothing."""
    return {node.node_id: replace(world, node, reason) for node, reason in _lost(event, world)}


def _lost(event: BusEvent, world: World) -> list[tuple[Node, str]]:
    if event.detail_type == "Relay Lost":
        lost = RelayLost.from_document(event.detail)
        nodes = [node for node in world.nodes.of(lost.transfer_id) if node.node_id == lost.node_id]
        return _alive(nodes, lost.message)
    instance_id = str(event.detail.get("instance-id", ""))
    if event.detail_type == STATE_CHANGE and event.detail.get("state") in _LOST_STATES:
        return _alive(world.nodes.by_instance(instance_id), f"its instance is {event.detail['state']}")
    if event.detail_type == SPOT_WARNING:
        return _alive(world.nodes.by_instance(instance_id), "spot interruption in two minutes")
    # A rebalance recommendation is advice; the relay still carries data.
    return []


def _alive(nodes: list[Node], reason: str) -> list[tuple[Node, str]]:
    return [(node, reason) for node in nodes if node.state in LIVE_STATES]


handler = event_rule(replace_relay)
