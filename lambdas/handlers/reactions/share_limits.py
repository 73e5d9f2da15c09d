"""Every few seconds, where limits over several transfers hold: shares go to those that need them."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations.fleet import sharing
from lambdas.runtime.handler import BusEvent, event_rule

# A schedule is no finer than a minute.
LOOKS = 11
PAUSE_SECONDS = 5.0


def share_limits(_event: BusEvent, world: World) -> dict[str, Any]:
    """Return Mbit/s by transfer after the last look; nothing where nobody has set such a limit."""
    shares: dict[str, Any] = {}
    for look in range(LOOKS):
        if look:
            world.clock.sleep(PAUSE_SECONDS)
        known = world.common_limits.get()
        if not known.limits and not known.grants:
            return shares
        # One that the index did not show at its start is found here.
        found = sharing.look(world, world.transfers.active_ids())
        shares = {transfer_id: grant.mbps for transfer_id, grant in found.grants.items()}
        if not shares:
            return shares
    return shares


handler = event_rule(share_limits, hurried=True)
