"""Cancel Transfer: invoked by people who may not stop executions themselves, e.g. from the dashboard."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from lambdas.adapters.world import World
from lambdas.core.documents import Document, TransferId
from lambdas.operations import named
from lambdas.runtime.dashboard import also_by_click
from lambdas.runtime.handler import user_call


class CancelRequest(Document):
    """Contract `cancel-request`; the execution keeps `reason` as its cause."""

    transfer_id: TransferId
    reason: Annotated[str, Field(min_length=1, max_length=1000)] = "cancelled by a person"


def cancel_transfer(event: CancelRequest, world: World) -> dict[str, Any]:
    """Whether it ran until now; a rule takes down what it leaves. Raises NoSuchTransfer."""
    arn = named.transfer(world, event.transfer_id).transfer.execution_arn
    runs = world.executions.status(arn) == "RUNNING"
    if runs:
        world.executions.stop(arn, "Cancelled", event.reason)
    return {"transferId": event.transfer_id, "cancelled": runs}


def _words(done: Mapping[str, Any]) -> str:
    name = done["transferId"]
    if done["cancelled"]:
        return f"'{name}' is cancelled; its daemons and relays are being taken down. What has arrived stays."
    return f"'{name}' has ended already; nothing was changed."


handler = also_by_click(user_call(CancelRequest, cancel_transfer), _words)
