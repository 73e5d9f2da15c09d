"""Survey Ends: list the source, check the destination, both at once; then compare them where both have something."""

from lambdas.adapters.world import World
from lambdas.core import commands
from lambdas.core.documents import Handover
from lambdas.core.survey import check, check_room
from lambdas.core.transfer import AcceptedTransfer, DestinationSurvey, SourceSurvey, Survey
from lambdas.operations.commands import Order, answer, run_all
from lambdas.operations.comparison import compared
from lambdas.runtime.handler import task_state

# The document's own limit is 840 s; the Lambda has 900.
COMMAND_SECONDS = 870.0


class SurveyInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def survey_ends(event: SurveyInput, world: World) -> Survey:
    """The surveys; raises SurveyProblem, DestinationTooSmall, DaemonVersionSkew or CommandFailed."""
    transfer = event.transfer
    control = world.control(transfer.transfer_id)
    orders = [
        Order.on(transfer.source, "scan", commands.scan_source(transfer, control)),
        Order.on(transfer.destination, "scan", commands.scan_destination(transfer)),
    ]
    results = run_all(world, transfer.transfer_id, orders, COMMAND_SECONDS)
    printed = [answer(order, result) for order, result in zip(orders, results, strict=True)]
    survey = Survey(
        source=SourceSurvey.from_document(printed[0]), destination=DestinationSurvey.from_document(printed[1])
    )
    check(transfer, survey)
    if not transfer.request.measures:
        survey = compared(transfer, survey, world)
    check_room(transfer, survey)
    return survey


handler = task_state("Survey Ends", SurveyInput, survey_ends)
