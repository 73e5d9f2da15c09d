"""Release of the task token of Start Transfer with what the ends reported."""

from lambdas.adapters.records import ControlToken
from lambdas.adapters.world import World
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome
from lambdas.core.transfer.accepted import AcceptedTransfer


def finish(world: World, transfer: AcceptedTransfer, outcome: Outcome) -> bool:
    """Write the outcome first, then release the token, if it is there: whoever keeps one reads the outcome after it.

    False also where a later execution has taken the transfer up: outcome and token are that one's.
    """
    world.transfers.change(transfer, transfer_life.finish(outcome))
    token, record = world.tokens.get(transfer.transfer_id), world.transfers.get(transfer.transfer_id)
    if token is None or record is None or record.outcome is None or not record.is_of(transfer):
        return False
    return release(world, token, record.outcome)


def release(world: World, token: ControlToken, outcome: Outcome) -> bool:
    """Succeed or fail the task; False when the execution no longer waits for it."""
    if outcome.error is not None:
        return world.executions.fail(token.token, outcome.error, outcome.cause or "")
    return world.executions.succeed(token.token, outcome.to_document())
