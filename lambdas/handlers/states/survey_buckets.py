"""Survey Buckets: whether both buckets can be used as the request says, before anything is copied."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.surveying import survey
from lambdas.runtime.handler import task_state


class BucketsInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def survey_buckets(event: BucketsInput, world: World) -> dict[str, Any]:
    """The round before the first; raises SurveyProblem, EmptySource."""
    return survey(world, event.transfer).to_document()


handler = task_state("Survey Buckets", BucketsInput, survey_buckets)
