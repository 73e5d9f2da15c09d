"""Every minute, before and apart from all else: a heartbeat for each transfer whose ends advance.

From records alone, with clients that wait for seconds only: nothing of EC2 or SSM, and no other transfer, may delay it.
"""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations.seats import watching
from lambdas.operations.side_by_side import look_at_each
from lambdas.runtime.handler import BusEvent, event_rule, raise_broken

# A call that failed is as a rule answered a moment later; the next tick would come in a minute.
TRIES = 2


def watch_ends(_event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was found of each transfer that has ends; counts those of which nothing is known at the end."""
    ids = world.transfers.active_ids()
    looks = look_at_each({id_: id_ for id_ in ids}, lambda id_: watching.look_at(world, id_), TRIES)
    # Last, so that a look that hangs is no look: the alarm rings where this is not written.
    world.metrics.put({"EndsUnwatched": len(looks.broken)})
    raise_broken(transfer_id=looks.broken)
    return {id_: found for id_, found in looks.found.items() if found is not None}


handler = event_rule(watch_ends, hurried=True, each=True)
