"""Make Way: what was confirmed, and is of another kind than what the source has in its place, goes first."""

from lambdas.adapters.world import World
from lambdas.core.errors import DeletionIncomplete
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned
from lambdas.core.request.deletion import Deleted
from lambdas.core.seats import commands
from lambdas.core.seats.epochs import first_epoch
from lambdas.operations.fence import serving
from lambdas.operations.removal import RemovalInput, cause, deleted, removed
from lambdas.runtime.handler import task_state


def make_way(event: RemovalInput, world: World) -> Deleted:
    """What became of it. The same order may be given again, whatever became of an earlier one, until data moves.

    Raises DeletionInterrupted, DeletionIncomplete or TransferFenced.
    """
    transfer, extras = event.transfer, event.survey.extras
    record = serving(world, transfer, Planned)
    # Of the start before the one that is to come: as soon as that has a receiver, an order that comes late is void.
    epoch = max(first_epoch(record.attempt), 1)
    command = commands.delete(transfer, world.control(transfer), extras, epoch, in_the_way=True)
    found = removed(record, extras, command, world)
    result = deleted(transfer, found, world)
    if result.remaining is not None:
        world.transfers.change(transfer, transfer_life.note(deleted=result))
        raise DeletionIncomplete(cause(transfer, found, result.remaining, world))
    return result


handler = task_state("Make Way", RemovalInput, make_way)
