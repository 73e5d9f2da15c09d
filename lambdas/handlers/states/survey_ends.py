"""Survey Ends: list the source, check the destination, both at once; then compare them where both have
something, and find what only the destination has where that may be removed.

Where the request asks for nothing that needs the whole listing, and that takes long, it is left to Extend Plan and to
Finish Survey.
"""

from lambdas.adapters.world import World
from lambdas.core.chunks.listing import OpenSurvey
from lambdas.core.documents import Handover
from lambdas.core.survey.survey import Survey
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.intake.surveying import look_at_ends
from lambdas.runtime.handler import task_state


class SurveyInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def survey_ends(event: SurveyInput, world: World) -> Survey | OpenSurvey:
    """The surveys.

    Raises SurveyProblem, EmptySource, DestinationTooSmall, DaemonVersionSkew, DeletionRefused or CommandFailed.
    """
    return look_at_ends(event.transfer, world)


handler = task_state("Survey Ends", SurveyInput, survey_ends)
