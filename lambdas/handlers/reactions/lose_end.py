"""A machine stops or is terminated: a transfer of which it was an end fails at once."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations.ends import end_daemons
from lambdas.operations.side_by_side import look_at_each
from lambdas.runtime.handler import BusEvent, event_rule, raise_broken


def lose_end(event: BusEvent, world: World) -> dict[str, Any]:
    """Return whether each active transfer was ended; EC2 is asked only for those whose end the machine is."""
    if not event.tells_of_an_end:
        return {}
    ids = world.transfers.active_ids()
    looks = look_at_each({id_: id_ for id_ in ids}, lambda id_: end_daemons.fail_without(world, id_, event.instance_id))
    raise_broken(transfer_id=looks.broken)
    return dict(looks.found)


handler = event_rule(lose_end, hurried=True, each=True)
