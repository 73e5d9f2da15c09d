"""Start Transfer: keep the task token, start receiver and sender. The task ends when the ends have reported."""

from collections.abc import Callable
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import AgentBusy, CptError, EndNotStarted
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome, Planned
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import serving
from lambdas.operations.seats import end_daemons
from lambdas.operations.spending import metering
from lambdas.operations.token import release
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once


class StartInput(Handover):
    """Input of the state; the token is new with each attempt of the task."""

    transfer: AcceptedTransfer
    task_token: str


def start_transfer(event: StartInput, world: World) -> dict[str, Any]:
    """Start both ends; raises TransferFenced, EndNotStarted or AgentBusy."""
    transfer = event.transfer
    return begin(event, world, lambda start: end_daemons.start_living(world, transfer, start))


def begin(event: StartInput, world: World, daemons: Callable[[int], list[str]]) -> dict[str, Any]:
    """Store the token, then look whether the transfer is over already (no lost wake-up), then start `daemons`."""
    transfer_id = event.transfer.transfer_id
    # Before the token is stored, too: a late attempt's must not take the place of a later execution's.
    serving(world, event.transfer, Planned)
    start = _start(world, event.transfer, event.task_token)
    record = serving(world, event.transfer, Planned)
    token = world.tokens.get(transfer_id)
    if record.outcome is not None and token is not None:
        release(world, token, record.outcome)
        return {"start": start, "started": False}
    if start > 1:
        metering.look(world, record)  # the new sender's report takes the place of the old one's
    _start_ends(world, event.transfer, start, daemons)
    return {"start": start, "started": True}


def _start(world: World, transfer: AcceptedTransfer, token: str) -> int:
    """One start per task attempt: the same token, stored again, keeps its number."""
    known = world.tokens.get(transfer.transfer_id)
    if known is None or known.token != token:
        if counted := world.transfers.change(transfer, transfer_life.COUNT_ATTEMPT):
            world.tokens.put(transfer.transfer_id, token, counted.attempt)
        known = world.tokens.get(transfer.transfer_id)
    return known.start if known else 1


def _start_ends(world: World, transfer: AcceptedTransfer, start: int, daemons: Callable[[int], list[str]]) -> None:
    try:
        trouble = daemons(start)
    except AgentBusy as error:
        _finish(world, transfer, error)
        raise
    if trouble:
        failure = EndNotStarted("\n".join(trouble))
        _finish(world, transfer, failure)
        raise failure


def _finish(world: World, transfer: AcceptedTransfer, error: CptError) -> None:
    """End the transfer: relays would wait for a sender until their time is up, and cost money."""
    outcome = Outcome(error=type(error).__name__, cause=str(error))
    world.transfers.change(transfer, transfer_life.finish(outcome))


def _once(event: StartInput, world: World) -> dict[str, Any]:
    key = {"transferId": event.transfer.transfer_id, "taskToken": event.task_token}
    return once("start-transfer", key, lambda: start_transfer(event, world))


handler = task_state("Start Transfer", StartInput, _once)
