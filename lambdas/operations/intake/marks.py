"""The mark of a destination, by which the source's machine knows a directory that both see.

Its name is in the record before it is in the directory: of a function that has ended, or a daemon that was killed, the
next attempt, the teardown or a run that resumes the transfer takes it away.
"""

from secrets import token_hex

from lambdas.adapters.world import World
from lambdas.core.errors import TransferFenced
from lambdas.core.record import transfer_life
from lambdas.core.seats import commands
from lambdas.core.survey.survey import Mark
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.seats.commands import Order, answer, run_all


def put(transfer: AcceptedTransfer, world: World, seconds: float) -> str:
    """Put a mark into the destination; its name, which nobody has asked for before.

    Raises CommandFailed, and TransferFenced where a later execution has the transfer, or it is being taken down.
    """
    name = token_hex(16)
    if not world.transfers.change(transfer, transfer_life.note(marks=[*_noted(transfer, world), name])):
        raise TransferFenced(f"{transfer.transfer_id} is being taken down, or goes on in another execution")
    _order(transfer, name, world, seconds, present=True)
    return name


def take_away(transfer: AcceptedTransfer, world: World, seconds: float, own: str | None = None) -> None:
    """Take away what was put there and not seen to go, `own` whatever is noted by now; raises CommandFailed."""
    noted = _noted(transfer, world)
    for name in dict.fromkeys([*noted, *([own] if own else [])]):
        _order(transfer, name, world, seconds, present=False)
    if noted:
        world.transfers.change(transfer, transfer_life.note(marks=[]))


def _noted(transfer: AcceptedTransfer, world: World) -> list[str]:
    record = world.transfers.get(transfer.transfer_id)
    return record.marks if record and record.is_of(transfer) else []


def _order(transfer: AcceptedTransfer, name: str, world: World, seconds: float, *, present: bool) -> None:
    order = Order.on(transfer.at_destination, "scan", commands.mark(transfer, name, present=present))
    Mark.from_document(answer(order, *run_all(world, transfer, [order], seconds)))
