"""Every minute: each active transfer is to be looked at, relays of none end, and windows that nobody closes are told.

The looks are one event and one call of a function each: what one waits for costs no other transfer.
"""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations import strays
from lambdas.operations.intake import collecting
from lambdas.operations.side_by_side import look_at_each
from lambdas.runtime.handler import BusEvent, event_rule, logger, raise_broken


def watch_transfers(_event: BusEvent, world: World) -> dict[str, Any]:
    """Return how many looks are due, and which instances were terminated."""
    ids = world.transfers.active_ids()
    due = look_at_each({id_: id_ for id_ in ids}, lambda id_: world.events.put("Look Due", {"transferId": id_}))
    world.metrics.put({"TransfersActive": len(ids)})
    found = look_at_each({region: region for region in world.env.regions}, lambda one: strays.terminate(world, one))
    terminated = [id_ for ids_ in found.found.values() for id_ in ids_]
    if terminated:
        logger.warning("relays of no active transfer were terminated", extra={"instances": terminated})
        world.metrics.put({"RelaysStray": len(terminated)})
    windows = look_at_each({"windows": world}, collecting.tell_overdue)
    raise_broken(transfer_id=due.broken, region=found.broken, windows=windows.broken)
    return {"due": len(due.found), "strays": terminated, "windows": windows.found["windows"]}


handler = event_rule(watch_transfers, hurried=True)
