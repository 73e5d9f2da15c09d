"""Finish Copies: every object that was listed is copied and proved, or named."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.copies.units import Round
from lambdas.core.documents import Handover
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.finishing import finish
from lambdas.runtime.handler import task_state


class FinishInput(Handover):
    """Input of the state; `round`: the last one, which has no units."""

    transfer: AcceptedTransfer
    round: Round


def finish_copies(event: FinishInput, world: World) -> dict[str, Any]:
    """`{"verified": true, "files": n}`; raises FilesSkipped, VerificationFailed."""
    return finish(world, event.transfer, event.round.number)


handler = task_state("Finish Copies", FinishInput, finish_copies)
