"""End Silent: the end is started again, or its transfer given up where that cannot help."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import EndSilent
from lambdas.core.record.transfer_record import Planned
from lambdas.operations.seats import end_daemons
from lambdas.runtime.handler import CONTROL, BusEvent, event_rule


def restart_end(event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was done; an end that has spoken meanwhile is left alone, however late the event comes."""
    if event.source != CONTROL:
        return {}  # ends do not judge each other
    silent = EndSilent.from_document(event.detail)
    record = world.transfers.get(silent.transfer_id)
    if not isinstance(record, Planned) or not record.moving or record.outcome is not None:
        return {}
    return {silent.transfer_id: end_daemons.see_to_silent(world, record, silent.seat, silent.start)}


handler = event_rule(restart_end, hurried=True)
