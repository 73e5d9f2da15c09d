"""Relay Lost, Relay Slow, Relay Warned: a successor, and the relay goes."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import RelayLost, RelaySlow, RelayWarned
from lambdas.core.fleet.relay_node import Node
from lambdas.operations.fleet.replacement import Failing, replace
from lambdas.runtime.handler import CONTROL, BusEvent, event_rule


def replace_relay(event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was done for each relay that the event names; a relay that is known to be lost needs nothing."""
    nodes, failing = _failing(event, world)
    return {node.node_id: replace(world, node, failing) for node in nodes if failing}


def _failing(event: BusEvent, world: World) -> tuple[list[Node], Failing | None]:
    if event.detail_type == "Relay Lost":
        lost = RelayLost.from_document(event.detail)
        if event.source != CONTROL and not _is_told(world, lost):
            return [], None
        return _named(world, lost), Failing("lost", lost.message)
    if event.detail_type == "Relay Slow":
        if event.source != CONTROL:
            return [], None  # ends do not judge rates
        slow = RelaySlow.from_document(event.detail)
        return _named(world, slow), Failing("slow", slow.message, slow.rate, slow.expected)
    if event.detail_type == "Relay Warned" and event.source == CONTROL:
        warned = RelayWarned.from_document(event.detail)
        return _named(world, warned), Failing("warned", warned.message)
    return [], None


def _is_told(world: World, lost: RelayLost) -> bool:
    """Return whether the transfer's own sender wrote that it lost this relay: any end may put the event."""
    record = world.transfers.get(lost.transfer_id)
    told = world.agents.lost_relays(record.transfer.partition) if record else []
    return any(relay.node_id == lost.node_id for relay in told)


def _named(world: World, told: RelayLost | RelaySlow | RelayWarned) -> list[Node]:
    """The relay that is meant; none where its id is that of another machine by now, as in a later run."""
    nodes = [node for node in world.nodes.of(told.transfer_id) if node.node_id == told.node_id]
    return [node for node in nodes if told.instance_id in (None, node.instance_id)]


handler = event_rule(replace_relay)
