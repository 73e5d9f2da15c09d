"""Await Approval: keep the task token, tell people what they may choose. The task ends when somebody has answered."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import TransferFenced
from lambdas.core.estimate.approval import event_detail, letter
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.runtime.handler import task_state


class AwaitInput(Handover):
    """Input of the state; the token is new with each attempt of the task."""

    transfer: AcceptedTransfer
    estimate: Estimate
    task_token: str


def await_approval(event: AwaitInput, world: World) -> dict[str, Any]:
    """Store the token, then look whether the transfer is over already; only then ask. Raises TransferFenced."""
    transfer_id = event.transfer.transfer_id
    # Before the token is stored, too: a late attempt's must not take the place of a later execution's.
    record = world.transfers.get(transfer_id)
    if record is None or not record.is_of(event.transfer):
        raise TransferFenced(f"{transfer_id} goes on in another execution")
    world.tokens.put_approval(transfer_id, event.task_token)
    record = world.transfers.get(transfer_id)
    if record is None or record.fenced:
        world.tokens.delete(transfer_id)
        raise TransferFenced(f"{transfer_id} is being torn down")
    world.events.put("Approval Required", event_detail(event.transfer, event.estimate))
    world.notifications.send(*letter(event.transfer, event.estimate))
    return {"asked": True}


handler = task_state("Await Approval", AwaitInput, await_approval)
