"""Finish Survey: the survey of a listing that was followed, and what is chosen by it: data flows already."""

from lambdas.adapters.world import World
from lambdas.core.chunks.listing import OpenSurvey
from lambdas.core.documents import Handover
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.estimation import estimate_for
from lambdas.operations.estimate.pooling import fixed, note_estimate
from lambdas.operations.intake.surveying import survey_of_followed
from lambdas.runtime.handler import task_state


class FinishInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    survey: OpenSurvey


def finish_survey(event: FinishInput, world: World) -> Estimate:
    """The estimate; raises what Survey Ends and Estimate Transfer do, and TransferFenced."""
    survey = survey_of_followed(event.transfer, event.survey, world)
    result = estimate_for(event.transfer, survey.to_send.bytes, world, survey, pool_price=fixed(event.transfer, world))
    note_estimate(world, event.transfer, result)
    return result


handler = task_state("Finish Survey", FinishInput, finish_survey)
