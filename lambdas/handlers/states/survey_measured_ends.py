"""Survey Measured Ends: list the source, check the destination; nothing is compared, for nothing is to be moved."""

from lambdas.adapters.world import World
from lambdas.core.survey.survey import Survey
from lambdas.handlers.states.survey_ends import SurveyInput
from lambdas.operations.intake.surveying import look_at_measured_ends
from lambdas.runtime.handler import task_state


def survey_measured_ends(event: SurveyInput, world: World) -> Survey:
    """The surveys; raises SurveyProblem, DestinationTooSmall, DaemonVersionSkew or CommandFailed."""
    return look_at_measured_ends(event.transfer, world)


handler = task_state("Survey Measured Ends", SurveyInput, survey_measured_ends)
