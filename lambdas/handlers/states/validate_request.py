"""Validate Request: refuse what cannot work before anything costs money; lock the destination path."""

from datetime import datetime
from re import sub
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.destination_lock import Busy, refusal
from lambdas.core.intake.starts import name_to_start_again
from lambdas.core.record import transfer_life
from lambdas.core.request import labels
from lambdas.core.request.tenancy import problems_of_names, tenant_of_alias
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.intake.acceptance import accept
from lambdas.operations.intake.holding import acquire, lock_ids, release
from lambdas.operations.intake.resume import take_name
from lambdas.operations.spending import tenants
from lambdas.runtime.handler import task_state


class ValidateInput(Handover):
    """Input from the state machine; `request` is raw."""

    request: Any
    execution_arn: str
    execution_name: str
    started_at: str


def validate_request(event: ValidateInput, world: World) -> AcceptedTransfer:
    """The accepted transfer.

    Raises InvalidRequest, NoSuchTransfer, TransferRunning, TransferEnding, DestinationBusy or DestinationTaken.
    """
    try:
        transfer = tenants.hold(world, _accepted(event, world))
    except InvalidRequest as error:
        raise InvalidRequest(error.problems, name_to_start_again(event.execution_name)) from None
    try:
        transfer = _begun(world, transfer)
    except Exception:
        tenants.release(world, transfer)
        raise
    told = labels.of_event(transfer.request.label, transfer.request.tags)
    news = {"transferId": transfer.transfer_id, "executionArn": event.execution_arn, **told}
    world.events.put("Transfer Started", news)
    world.metrics.put({"TransfersStarted": 1})
    return transfer


def _accepted(event: ValidateInput, world: World) -> AcceptedTransfer:
    """The transfer that was asked for, by whose alias it is; raises InvalidRequest."""
    tenant = tenant_of_alias(world.executions.alias(event.execution_arn))
    accepted = accept(event.request, world)
    request = accepted.request
    transfer_id = request.name or sub(r"[^A-Za-z0-9_-]", "-", event.execution_name)[:80].lstrip("-_")
    if problems := problems_of_names(tenant, event.execution_name, transfer_id, world.env.tenants):
        raise InvalidRequest(problems)
    return AcceptedTransfer(
        transfer_id=transfer_id,
        execution_arn=event.execution_arn,
        execution_started_at=datetime.fromisoformat(event.started_at).timestamp(),
        request=request.model_copy(update={"name": transfer_id}),
        senders=accepted.senders,
        receivers=accepted.receivers,
        existing=accepted.existing,
        transit=accepted.transit,
        apart=accepted.apart,
        tenant=tenant,
    )


def _begun(world: World, transfer: AcceptedTransfer) -> AcceptedTransfer:
    """The transfer with its record, and with its destination locked."""
    # The record comes first: whatever fails from here on, the teardown finds the transfer by its execution.
    transfer = take_name(world, transfer)
    held = acquire(world, transfer)
    if isinstance(held, Busy):
        if len(lock_ids(transfer)) > 1:
            release(world, transfer)  # nobody is to wait for what this one does not use
        raise refusal(transfer, held)
    world.transfers.change(transfer, transfer_life.note(receiver_port=held.port))
    return transfer.model_copy(update={"receiver_port": held.port})


handler = task_state("Validate Request", ValidateInput, validate_request)
