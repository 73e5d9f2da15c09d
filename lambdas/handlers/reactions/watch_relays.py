"""Every half minute: relays that do not carry what they should; every minute: routes that may be planned again."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations.fleet import relay_watch, replanning
from lambdas.runtime.handler import BusEvent, event_rule

# A schedule is no finer than a minute.
LOOKS = 2
PAUSE_SECONDS = 30.0


def watch_relays(_event: BusEvent, world: World) -> dict[str, Any]:
    """The verdict on each relay that is slow or silent, by transfer."""
    found: dict[str, Any] = {}
    for look in range(LOOKS):
        if look:
            world.clock.sleep(PAUSE_SECONDS)
        watched = [record for record in world.transfers.active() if relay_watch.has_relays(record)]
        if not watched:
            break
        for record in watched:
            found.setdefault(record.transfer.transfer_id, {}).update(relay_watch.look_at(world, record))
            # The plan goes by what the looks until now have seen.
            if not look and replanning.is_due(world, record):
                world.events.put("Plan Due", {"transferId": record.transfer.transfer_id})
    return found


handler = event_rule(watch_relays)
