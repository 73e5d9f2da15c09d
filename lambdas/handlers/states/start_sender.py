"""Start Sender: keep the task token, start the sender alone. The task ends when relays are measured."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.handlers.states.start_transfer import StartInput, begin
from lambdas.operations.seats import end_daemons
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once


def start_sender(event: StartInput, world: World) -> dict[str, Any]:
    """Start the sender, which only runs probes; raises TransferFenced, EndNotStarted or AgentBusy."""
    return begin(event, world, lambda start: end_daemons.start_probing(world, event.transfer, start))


def _once(event: StartInput, world: World) -> dict[str, Any]:
    key = {"transferId": event.transfer.transfer_id, "taskToken": event.task_token}
    return once("start-sender", key, lambda: start_sender(event, world))


handler = task_state("Start Sender", StartInput, _once)
