"""Transfer Delivered or Transfer Failed: write the outcome first, then release the task token."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.events import TransferDelivered, TransferFailed
from lambdas.operations.token import finish
from lambdas.runtime.handler import BusEvent, event_rule


def finish_transfer(event: BusEvent, world: World) -> dict[str, Any]:
    """Whoever registers a token reads the outcome after it, so that neither order of the two loses the wake-up."""
    detail = _parse(event)
    token = world.tokens.get(detail.transfer_id)
    if token is not None and token.epoch != detail.epoch:
        return {"ignored": f"epoch {detail.epoch}, the present one is {token.epoch}"}
    record = world.transfers.get(detail.transfer_id)
    if record is not None and detail.epoch <= record.earlier_epochs:
        return {"ignored": f"epoch {detail.epoch} was of an earlier execution"}
    return {"released": finish(world, detail.transfer_id, detail.outcome())}


def _parse(event: BusEvent) -> TransferDelivered | TransferFailed:
    if event.detail_type == "Transfer Delivered":
        return TransferDelivered.from_document(event.detail)
    return TransferFailed.from_document(event.detail)


handler = event_rule(finish_transfer)
