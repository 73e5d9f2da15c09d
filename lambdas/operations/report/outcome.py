"""What an end says of its end, taken as the outcome of the transfer's execution where it is of that."""

from typing import Any

from lambdas.adapters.records import ControlToken
from lambdas.adapters.world import World
from lambdas.core.chunks.events import TransferDelivered, TransferFailed
from lambdas.core.chunks.progress import Side
from lambdas.core.transfer_record import Outcome, TransferRecord
from lambdas.operations.token import finish


def take(world: World, record: TransferRecord, side: Side) -> dict[str, Any]:
    """Finish the transfer with what the record of this end says; whether the task was released, or why not.

    Whoever registers a token reads the outcome after it, so that neither order of the two loses the wake-up.
    """
    told = world.agents.outcome(record.transfer.shared, side)
    if told is None:
        return {"ignored": f"the record of the {side} has no outcome"}
    token = world.tokens.get(record.transfer.transfer_id)
    if why := _of_another(told, token, record):
        return {"ignored": why}
    return {"released": finish(world, record.transfer, Outcome.from_document(told.outcome()))}


def _of_another(
    told: TransferDelivered | TransferFailed, token: ControlToken | None, record: TransferRecord
) -> str | None:
    """Why it does not count; a sender that was replaced may have delivered all the same."""
    if told.epoch <= record.earlier_epochs:
        return f"epoch {told.epoch} was of an earlier execution"
    if token is None:
        return None
    if isinstance(told, TransferDelivered):
        present = max(told.epoch, token.epoch)
    else:
        end = record.ends.of(told.side) if record.ends and record.ends.task == token.epoch else None
        present = end.epoch if end else token.epoch
    return None if told.epoch == present else f"epoch {told.epoch}, the present one is {present}"
