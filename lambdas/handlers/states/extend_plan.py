"""Extend Plan: plan the objects of the listing as they come, until the last; the sender follows.

It goes on where an earlier invocation of this execution has stopped, and no two are at it at the same time.
"""

from lambdas.adapters.world import World
from lambdas.core.chunks.listing import OpenSurvey
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.documents import Handover
from lambdas.core.record.transfer_record import Planned
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.chunks.extending import Extension
from lambdas.operations.fence import serving
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once_in_execution


class ExtendInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    survey: OpenSurvey


def extend_plan(event: ExtendInput, world: World) -> TransferPlan:
    """The whole plan, also in S3 and in the transfer's record; raises PlanGoesOn or TransferFenced."""
    plan = serving(world, event.transfer, Planned).plan
    return Extension(world, event.transfer, event.survey, plan).run() if plan.open else plan


handler = task_state("Extend Plan", ExtendInput, once_in_execution("extend-plan", extend_plan))
