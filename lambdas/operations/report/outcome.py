"""An end's word on how it ended: the outcome of the transfer, or the end of its seat alone."""

from typing import Any

from lambdas.adapters.records import ControlToken
from lambdas.adapters.world import World
from lambdas.core.chunks.events import TransferDelivered, TransferFailed
from lambdas.core.record.transfer_record import Outcome, TransferRecord
from lambdas.core.seats import last_words
from lambdas.core.seats.epochs import start_of
from lambdas.operations.seats import retiring
from lambdas.operations.token import finish


def take(world: World, record: TransferRecord, seat_id: str) -> dict[str, Any]:
    """Finish the transfer with what the record of this seat says; whether the task was released, or why not.

    A seat whose machine cannot go on is retired instead, while others of its side live.
    Whoever registers a token reads the outcome after it, so that neither order of the two loses the wake-up.
    """
    told = world.agents.outcome(record.transfer.partition, seat_id)
    if told is None:
        return {"ignored": f"the record of {seat_id} has no outcome"}
    token = world.tokens.get(record.transfer.transfer_id)
    if any(one.seat_id == seat_id for one in record.retired):
        return {"ignored": f"{seat_id} is retired"}
    if why := _of_another(told, token, record):
        return {"ignored": why}
    outcome = Outcome.from_document(told.outcome())
    seat = next((one for one in record.living if one.seat_id == seat_id), None)
    if seat is not None and isinstance(told, TransferFailed) and last_words.is_of_machine(told.error):
        # Its process has not ended yet: what it has under way in the file system may still be done.
        return retiring.lose(world, record.transfer, seat, outcome, is_gone=False)
    return {"released": finish(world, record.transfer, outcome)}


def _of_another(
    told: TransferDelivered | TransferFailed, token: ControlToken | None, record: TransferRecord
) -> str | None:
    """Why it does not count; a sender that was replaced may have delivered all the same."""
    start = start_of(told.epoch)
    if start <= record.earlier_starts:
        return f"start {start} was of an earlier execution"
    if token is None:
        return None
    if isinstance(told, TransferDelivered):
        present = max(start, token.start)
    else:
        view = record.seats.of(told.seat) if record.seats and record.seats.task == token.start else None
        present = view.start if view else token.start
    return None if start == present else f"start {start}, the present one is {present}"
