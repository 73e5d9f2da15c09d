"""Rate Fell: what the transfer carries has fallen for good, so the decision about relays is taken again."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import RateFell
from lambdas.operations.fleet.growth import decide_anew
from lambdas.runtime.handler import CONTROL, BusEvent, event_rule


def grow_relays(event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was done for the transfer that the event names; ends do not judge rates."""
    if event.source != CONTROL:
        return {}
    told = RateFell.from_document(event.detail)
    return {told.transfer_id: decide_anew(world, told.transfer_id)}


handler = event_rule(grow_relays)
