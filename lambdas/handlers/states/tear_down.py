"""Tear Down: on every path, and as often as it takes."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations import teardown
from lambdas.runtime.handler import task_state


class TearDownInput(Handover):
    """Input of the state; `transfer` is null where validation failed."""

    transfer: AcceptedTransfer | None = None
    execution_arn: str


def tear_down(event: TearDownInput, world: World) -> dict[str, Any]:
    """Return what was taken down; raises TeardownIncomplete."""
    transfer_id = event.transfer.transfer_id if event.transfer else None
    record = teardown.find(world, transfer_id, event.execution_arn)
    return dict(teardown.tear_down(world, record)) if record else {"terminated": 0}


handler = task_state("Tear Down", TearDownInput, tear_down)
