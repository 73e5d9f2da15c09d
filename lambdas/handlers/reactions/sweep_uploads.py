"""Every day: uploads and notes of transfers that no run goes on with any more are removed from their buckets."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations import leftovers
from lambdas.operations.side_by_side import look_at_each
from lambdas.runtime.handler import BusEvent, event_rule, logger, raise_broken


def sweep_uploads(_event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was removed, by the transfers' ids."""
    due = leftovers.due(world)
    looks = look_at_each({key: key for key in due}, lambda key: leftovers.sweep(world, key, due[key]))
    removed = {due[key]: found._asdict() for key, found in looks.found.items() if found is not None}
    if any(found["uploads"] for found in removed.values()):
        logger.warning("unfinished uploads were aborted", extra={"transfers": removed})
    raise_broken(reminder=looks.broken)
    return {"due": len(due), "removed": removed}


handler = event_rule(sweep_uploads)
