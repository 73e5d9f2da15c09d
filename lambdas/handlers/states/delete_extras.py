"""Delete Extras: everything has arrived and is verified; what was confirmed at the destination goes."""

from lambdas.adapters.world import World
from lambdas.core.errors import DeletionIncomplete
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned
from lambdas.core.request.deletion import Deleted
from lambdas.core.seats import commands
from lambdas.core.seats.epochs import first_epoch
from lambdas.operations.chunks import entry_list
from lambdas.operations.fence import serving
from lambdas.operations.removal import RemovalInput, cause, deleted, removed
from lambdas.runtime.handler import task_state


def delete_extras(event: RemovalInput, world: World) -> Deleted:
    """What became of them. The same order may be given again, whatever became of an earlier one.

    Raises DeletionInterrupted, DeletionIncomplete or TransferFenced.
    """
    transfer, extras = event.transfer, event.survey.extras
    record = serving(world, transfer, Planned)
    command = commands.delete(transfer, world.control(transfer), extras, first_epoch(record.attempt))
    found = removed(record, extras, command, world)
    result = deleted(transfer, found, world)
    world.transfers.change(transfer, transfer_life.note(deleted=result))
    entry_list.write_extras(world, transfer, extras, found)
    if result.remaining is not None:
        raise DeletionIncomplete(cause(transfer, found, result.remaining, world))
    return result


handler = task_state("Delete Extras", RemovalInput, delete_extras)
