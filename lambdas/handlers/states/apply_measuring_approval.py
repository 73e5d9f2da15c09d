"""Apply Measuring Approval: twice as many pairs are measured as the row has that a person chose."""

from lambdas.adapters.world import World
from lambdas.core.estimate.estimate import Estimate
from lambdas.handlers.states.apply_approval import ApplyInput, apply
from lambdas.operations.estimate.aim import of_measuring
from lambdas.runtime.handler import task_state


def apply_measuring_approval(event: ApplyInput, world: World) -> Estimate:
    """The estimate that everything after reads, also in the record; raises what Apply Approval does."""
    states = ("Estimate Measuring", "Await Measuring Approval")
    return apply(event, world, states, of_measuring(event.transfer, world))


handler = task_state("Apply Measuring Approval", ApplyInput, apply_measuring_approval)
