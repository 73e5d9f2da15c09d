"""Start Transfer: keep the task token, start receiver and sender. The task ends when the ends have reported.

Where nothing is to be moved but measured, the sender alone is started, and the task ends when relays are measured.
"""

from typing import Any

from lambdas.adapters.records import TransferRecord
from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import EndNotStarted, TransferFenced
from lambdas.core.transfer import AcceptedTransfer, ResolvedPaths, TransferPlan
from lambdas.operations.ends import end_daemons
from lambdas.operations.spending import metering
from lambdas.operations.token import release
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once


class StartInput(Handover):
    """Input of the state; the token is new with each attempt of the task."""

    transfer: AcceptedTransfer
    plan: TransferPlan
    paths: ResolvedPaths
    task_token: str


def start_transfer(event: StartInput, world: World) -> dict[str, Any]:
    """Store the token, then look whether the transfer is over already (no lost wake-up), then start both ends.

    Raises TransferFenced or EndNotStarted.
    """
    transfer_id = event.transfer.transfer_id
    # Before the token is stored, too: a late attempt's must not take the place of a later execution's.
    _serving(world, event.transfer)
    epoch = _epoch(world, transfer_id, event.task_token)
    record = _serving(world, event.transfer)
    token = world.tokens.get(transfer_id)
    if record.outcome is not None and token is not None:
        release(world, token, record.outcome)
        return {"epoch": epoch, "started": False}
    if epoch > 1:
        metering.look(world, record)  # the new sender's report takes the place of the old one's
    _start_ends(world, event.transfer, epoch)
    return {"epoch": epoch, "started": True}


def _serving(world: World, transfer: AcceptedTransfer) -> TransferRecord:
    record = world.transfers.get(transfer.transfer_id)
    if record is None or not record.serves(transfer):
        raise TransferFenced(f"{transfer.transfer_id} is being torn down, or goes on in another execution")
    return record


def _epoch(world: World, transfer_id: str, token: str) -> int:
    """One epoch per task attempt: the same token, stored again, keeps its epoch."""
    known = world.tokens.get(transfer_id)
    if known is None or known.token != token:
        world.tokens.put(transfer_id, token, world.transfers.next_attempt(transfer_id))
        known = world.tokens.get(transfer_id)
    return known.epoch if known else 1


def _start_ends(world: World, transfer: AcceptedTransfer, epoch: int) -> None:
    if trouble := end_daemons.start(world, transfer, end_daemons.sides(transfer), epoch):
        error = EndNotStarted("\n".join(trouble))
        # Relays would wait for a sender until their time is up, and cost money.
        world.transfers.finish(transfer, {"error": EndNotStarted.__name__, "cause": str(error)})
        raise error


def _once(event: StartInput, world: World) -> dict[str, Any]:
    key = {"transferId": event.transfer.transfer_id, "taskToken": event.task_token}
    return once("start-transfer", key, lambda: start_transfer(event, world))


handler = task_state("Start Transfer", StartInput, _once)
