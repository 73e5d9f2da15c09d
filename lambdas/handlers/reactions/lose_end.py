"""End Lost: a seat whose machine carries no more is retired at once; the last one of its side fails the transfer."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import EndLost
from lambdas.operations.seats import end_daemons
from lambdas.runtime.handler import CONTROL, BusEvent, event_rule


def lose_end(event: BusEvent, world: World) -> dict[str, Any]:
    """Return whether the transfer was ended; EC2 is asked, since the event may be late."""
    if event.source != CONTROL:
        return {}
    lost = EndLost.from_document(event.detail)
    return {"ended": end_daemons.fail_without(world, lost.transfer_id, lost.instance_id)}


handler = event_rule(lose_end, hurried=True)
