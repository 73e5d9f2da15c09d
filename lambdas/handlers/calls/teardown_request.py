"""Teardown Request: invoked by people; takes down whatever a transfer has left, and stops it where it still runs."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Document, TransferId
from lambdas.core.errors import TransferRunning
from lambdas.operations import named, sweeping, teardown
from lambdas.runtime.handler import user_call


class TeardownRequest(Document):
    """Contract `teardown-request`; `stop`: also where its execution still runs."""

    transfer_id: TransferId
    stop: bool = False


def teardown_request(event: TeardownRequest, world: World) -> dict[str, Any]:
    """Return what was taken down. It may be called at any time. Raises NoSuchTransfer or TransferRunning."""
    record = named.transfer(world, event.transfer_id)
    arn = record.transfer.execution_arn
    status = world.executions.status(arn)
    if status == "RUNNING":
        if not event.stop:
            raise TransferRunning(f"'{event.transfer_id}' still runs; what has arrived stays if it is stopped: say so")
        world.executions.stop(arn, "TornDown", "taken down by a person")
        return {"transferId": event.transfer_id, "execution": "stopped", **teardown.tear_down(world, record)}
    done = sweeping.end(world, record, status)
    return {"transferId": event.transfer_id, "execution": status or "unknown", **done}


handler = user_call(TeardownRequest, teardown_request)
