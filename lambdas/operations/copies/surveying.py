"""Whether two buckets can be used as a request says; nothing is listed that would not be listed later."""

from itertools import islice

from lambdas.adapters.world import World
from lambdas.core.copies.units import FUNCTIONS_AT_ONCE, Round
from lambdas.core.errors import EmptySource, SurveyProblem
from lambdas.core.record import transfer_life
from lambdas.core.seats.credentials import MOST_POLICY_CHARACTERS
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.notebook import folder_of_keys
from lambdas.operations.copies.opening import open_buckets, policy_of
from lambdas.operations.intake import listed_keys


def survey(world: World, transfer: AcceptedTransfer) -> Round:
    """The round before the first; raises SurveyProblem, EmptySource."""
    request = transfer.request
    if (characters := len(policy_of(world, transfer))) > MOST_POLICY_CHARACTERS:
        raise SurveyProblem(
            f"$.source.prefix, $.destination.prefix: a session that reaches no more than these takes {characters} "
            f"characters to describe, and STS takes {MOST_POLICY_CHARACTERS}; choose shorter prefixes"
        )
    listed_keys.share(world, transfer, folder_of_keys(transfer))
    buckets = open_buckets(world, transfer)
    problems = buckets.problems(writes=not request.dry_run)
    if problems:
        raise SurveyProblem("\n".join(problems))
    if not list(islice(buckets.source(None), 1)):
        words = f"{request.source.where} has no object"
        if request.empty_source == "fail":
            raise EmptySource(f"$.source: {words}; correct bucket or prefix, or leave emptySource out")
        world.transfers.change(transfer, transfer_life.note(empty_source=words))
    return Round(number=0, units=0, done=False, width=FUNCTIONS_AT_ONCE)
