"""Apply Approval: the row that a person chose takes the place of the recommended one, if there is such a row."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core import transfer_life
from lambdas.core.documents import Handover
from lambdas.core.estimate.approval import Approval, take_row
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.transfer import AcceptedTransfer
from lambdas.runtime.handler import task_state


class ApplyInput(Handover):
    """Input of the state; `answer` is raw: whoever holds the token may send anything."""

    transfer: AcceptedTransfer
    estimate: Estimate
    answer: Any


def apply_approval(event: ApplyInput, world: World) -> Estimate:
    """The estimate that everything after reads, also in the transfer's record; raises InvalidApproval."""
    _note_wait(world, event.transfer)
    pairs = Approval.read(event.answer).pairs
    result = take_row(event.estimate, pairs, event.transfer.request)
    world.transfers.change(event.transfer, transfer_life.note(estimate=result))
    return result


def _note_wait(world: World, transfer: AcceptedTransfer) -> None:
    """The function of Await Approval left long ago; its state has ended now."""
    record = world.transfers.get(transfer.transfer_id)
    times = record.stages.get("Await Approval") if record else None
    if times is not None:
        waited = {**times, "leftAt": world.clock.now()}
        world.transfers.change(transfer, transfer_life.note_stage("Await Approval", waited))


handler = task_state("Apply Approval", ApplyInput, apply_approval)
