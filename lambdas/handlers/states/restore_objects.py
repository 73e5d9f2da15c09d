"""Restore Objects: S3 is asked to restore what is archived, and then it is looked how many are ready."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.restores.rounds import RestoreRound
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.restores.restoring import restore_round
from lambdas.runtime.handler import task_state


class RestoreInput(Handover):
    """Input of the state; `restores`: the last round."""

    transfer: AcceptedTransfer
    restores: RestoreRound


def restore_objects(event: RestoreInput, world: World) -> dict[str, Any]:
    """The next round, and after how many seconds it is due.

    Raises RestoreOverdue, RestoreRefused, MissingPermission, TransferFenced or Throttled.
    """
    return restore_round(world, event.transfer, event.restores).to_document()


handler = task_state("Restore Objects", RestoreInput, restore_objects)
