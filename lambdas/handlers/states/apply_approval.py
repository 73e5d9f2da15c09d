"""Apply Approval: the row that a person chose takes the place of the recommended one, if there is such a row.

People may take days. An estimate that is older than an hour is made again first.
"""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.estimate.approval import STALE_SECONDS, Approval, as_approved, take_row
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.record import transfer_life
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.aim import Aim
from lambdas.operations.estimate.estimation import estimate_again
from lambdas.runtime.handler import task_state


class ApplyInput(Handover):
    """Input of the state; `answer` is raw: whoever holds the token may send anything."""

    transfer: AcceptedTransfer
    estimate: Estimate
    answer: Any


def apply_approval(event: ApplyInput, world: World) -> Estimate:
    """The estimate that everything after reads, also in the transfer's record.

    Raises InvalidApproval; where it is made again also BudgetTooSmall, DeadlineUnreachable or NoSuitableType.
    """
    return apply(event, world, ("Estimate Transfer", "Await Approval"))


def apply(event: ApplyInput, world: World, states: tuple[str, str], aim: Aim | None = None) -> Estimate:
    """The same after these two states, which made the estimate and waited; `aim`: what is estimated, if not moving."""
    made, waited = states
    _note_wait(world, event.transfer, waited)
    pairs = Approval.read(event.answer).pairs
    age, request = _age(world, event.transfer, made), event.transfer.request
    if age > STALE_SECONDS:
        fresh = estimate_again(event.transfer, event.estimate, age, world, aim)
        result = as_approved(fresh, event.estimate, pairs, age, request)
    else:
        result = take_row(event.estimate, pairs, request)
    world.transfers.change(event.transfer, transfer_life.note(estimate=result))
    return result


def _age(world: World, transfer: AcceptedTransfer, made: str) -> float:
    """Seconds since the estimate was made."""
    record = world.transfers.get(transfer.transfer_id)
    times = record.stages.get(made) if record else None
    return world.clock.now() - times["leftAt"] if times and "leftAt" in times else 0.0


def _note_wait(world: World, transfer: AcceptedTransfer, state: str) -> None:
    """The function of the state that waited left long ago; the state has ended now."""
    record = world.transfers.get(transfer.transfer_id)
    times = record.stages.get(state) if record else None
    if times is not None:
        waited = {**times, "leftAt": world.clock.now()}
        world.transfers.change(transfer, transfer_life.note_stage(state, waited))


handler = task_state("Apply Approval", ApplyInput, apply_approval)
