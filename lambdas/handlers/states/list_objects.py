"""List Objects: the next round: what of the source is to be copied, cut into units that functions copy."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.copies.units import Round
from lambdas.core.documents import Handover
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.rounds import list_round
from lambdas.runtime.handler import task_state


class RoundInput(Handover):
    """Input of the state; `round`: the one whose units are copied meanwhile."""

    transfer: AcceptedTransfer
    round: Round


def list_objects(event: RoundInput, world: World) -> dict[str, Any]:
    """The round that comes next; raises BudgetReached."""
    return list_round(world, event.transfer, event.round).to_document()


handler = task_state("List Objects", RoundInput, list_objects)
