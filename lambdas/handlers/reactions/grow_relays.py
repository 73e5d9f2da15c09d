"""Relays while data moves: Rate Fell, for good, so the decision about them is taken again; or a pause has ended."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import RateFell, TransferUnpaused
from lambdas.operations.fleet.growth import decide_anew
from lambdas.operations.pausing import launch_again
from lambdas.runtime.handler import CONTROL, BusEvent, event_rule


def grow_relays(event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was done for the transfer that the event names; ends do not judge rates."""
    if event.source != CONTROL:
        return {}
    if event.detail_type == "Transfer Unpaused":
        unpaused = TransferUnpaused.from_document(event.detail)
        return {unpaused.transfer_id: launch_again(world, unpaused.transfer_id)}
    told = RateFell.from_document(event.detail)
    return {told.transfer_id: decide_anew(world, told.transfer_id)}


handler = event_rule(grow_relays)
