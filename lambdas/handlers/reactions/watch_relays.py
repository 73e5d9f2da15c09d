"""Every half minute: relays that do not carry what they should; every minute: routes that may be planned again."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations.fleet import relay_watch, replanning
from lambdas.operations.side_by_side import look_at_each
from lambdas.runtime.handler import BusEvent, event_rule, raise_broken

# A schedule is no finer than a minute.
LOOKS = 2
PAUSE_SECONDS = 30.0


def watch_relays(_event: BusEvent, world: World) -> dict[str, Any]:
    """The verdict on each relay that is slow or silent, by transfer."""
    found: dict[str, Any] = {}
    broken: dict[str, Exception] = {}
    for look in range(LOOKS):
        if look:
            world.clock.sleep(PAUSE_SECONDS)
        ids = {id_: id_ for id_ in world.transfers.active_ids()}
        looks = look_at_each(ids, lambda id_, first=not look: _look(world, id_, may_plan=first))  # type: ignore[misc]
        broken |= looks.broken
        watched = {id_: verdicts for id_, verdicts in looks.found.items() if verdicts is not None}
        for id_, verdicts in watched.items():
            found.setdefault(id_, {}).update(verdicts)
        if not watched and not looks.broken:
            break
    raise_broken(transfer_id=broken)
    return found


def _look(world: World, transfer_id: str, *, may_plan: bool) -> dict[str, str] | None:
    """Return the verdicts of one look; None where there are no relays to watch."""
    record = world.transfers.get(transfer_id)
    if record is None or record.closed or not relay_watch.has_relays(record):
        return None
    verdicts = relay_watch.look_at(world, record)
    # The plan goes by what the looks until now have seen.
    if may_plan and replanning.is_due(world, record):
        world.events.put("Plan Due", {"transferId": transfer_id})
    return verdicts


handler = event_rule(watch_relays, hurried=True, each=True)
