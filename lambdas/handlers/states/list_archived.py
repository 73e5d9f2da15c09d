"""List Archived: which objects of the source S3 has to restore, and what that takes; nothing is restored."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.restores.rounds import RestoreRound
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.restores.listing import list_round
from lambdas.runtime.handler import task_state


class ArchivedInput(Handover):
    """Input of the state; `restores`: the last round, or null."""

    transfer: AcceptedTransfer
    restores: RestoreRound | None = None


def list_archived(event: ArchivedInput, world: World) -> dict[str, Any]:
    """The next round; raises SurveyProblem, BudgetTooSmall."""
    return list_round(world, event.transfer, event.restores).to_document()


handler = task_state("List Archived", ArchivedInput, list_archived)
