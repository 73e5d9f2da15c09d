"""Estimate Measuring: what it takes and costs to measure each number of pairs, or all links between regions."""

from lambdas.adapters.world import World
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.record import transfer_life
from lambdas.handlers.states.estimate_transfer import EstimateInput
from lambdas.operations.estimate.aim import of_measuring
from lambdas.operations.estimate.estimation import estimate_for
from lambdas.runtime.handler import task_state


def estimate_measuring(event: EstimateInput, world: World) -> Estimate:
    """The estimate; raises BudgetTooSmall, NoSuitableType or MissingPrice."""
    transfer, survey = event.transfer, event.survey
    aim = of_measuring(transfer, world)
    result = estimate_for(transfer, survey.to_send.bytes, world, survey, aim=aim)
    world.transfers.change(transfer, transfer_life.note(estimate=result))
    return result


handler = task_state("Estimate Measuring", EstimateInput, estimate_measuring)
