"""Transfer Delivered or Transfer Failed: write the outcome first, then release the task token."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import TransferDelivered, TransferFailed
from lambdas.operations.report.outcome import take
from lambdas.runtime.handler import BusEvent, event_rule


def finish_transfer(event: BusEvent, world: World) -> dict[str, Any]:
    """Finish the transfer by the end's own record: any end may put the event, which only says where to look."""
    if event.detail_type == "Transfer Delivered":
        delivered = TransferDelivered.from_document(event.detail)
        record = world.transfers.get(delivered.transfer_id)
        return take(world, record, delivered.seat_id) if record else {"released": False}
    failed = TransferFailed.from_document(event.detail)
    record = world.transfers.get(failed.transfer_id)
    return take(world, record, failed.seat) if record else {"released": False}


handler = event_rule(finish_transfer)
