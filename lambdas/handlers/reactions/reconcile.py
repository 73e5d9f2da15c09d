"""Look Due: what lost events of one transfer would have told, and what its budget demands."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import LookDue
from lambdas.operations import reconciliation
from lambdas.runtime.handler import CONTROL, BusEvent, event_rule, raise_broken


def reconcile(event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was found; a part that breaks does not keep the others from being looked at."""
    if event.source != CONTROL:
        return {}  # ends order no looks
    due = LookDue.from_document(event.detail)
    record = world.transfers.get(due.transfer_id)
    if record is None or record.closed:
        return {}
    looks = reconciliation.look_at(world, record)
    raise_broken(part=looks.broken)
    return {due.transfer_id: looks.found}


handler = event_rule(reconcile, hurried=True)
