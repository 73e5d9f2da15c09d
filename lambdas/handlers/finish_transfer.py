"""Transfer Delivered or Transfer Failed: write the outcome first, then release the task token."""

from typing import Any

from lambdas.adapters.records import ControlToken, TransferRecord
from lambdas.adapters.world import World
from lambdas.core.events import TransferDelivered, TransferFailed
from lambdas.operations.token import finish
from lambdas.runtime.handler import BusEvent, event_rule


def finish_transfer(event: BusEvent, world: World) -> dict[str, Any]:
    """Whoever registers a token reads the outcome after it, so that neither order of the two loses the wake-up."""
    detail = _parse(event)
    token = world.tokens.get(detail.transfer_id)
    record = world.transfers.get(detail.transfer_id)
    if record is None:
        return {"released": False}
    if why := _of_another(detail, token, record):
        return {"ignored": why}
    return {"released": finish(world, record.transfer, detail.outcome())}


def _of_another(
    detail: TransferDelivered | TransferFailed, token: ControlToken | None, record: TransferRecord
) -> str | None:
    """Why the event does not count; a sender that was replaced may have delivered all the same."""
    if detail.epoch <= record.earlier_epochs:
        return f"epoch {detail.epoch} was of an earlier execution"
    if token is None:
        return None
    if isinstance(detail, TransferDelivered):
        present = max(detail.epoch, token.epoch)
    else:
        end = record.ends.of(detail.side) if record.ends and record.ends.task == token.epoch else None
        present = end.epoch if end else token.epoch
    return None if detail.epoch == present else f"epoch {detail.epoch}, the present one is {present}"


def _parse(event: BusEvent) -> TransferDelivered | TransferFailed:
    if event.detail_type == "Transfer Delivered":
        return TransferDelivered.from_document(event.detail)
    return TransferFailed.from_document(event.detail)


handler = event_rule(finish_transfer)
