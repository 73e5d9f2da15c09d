"""Marks, by which another machine knows a directory that both see: of a destination, or of a path of the source.

Its name is in the record before it is in the directory: of a function that has ended, or a daemon that was killed, the
next attempt, the teardown or a run that resumes the transfer takes it away.
"""

from collections.abc import Sequence
from secrets import token_hex
from urllib.parse import quote

from lambdas.adapters.world import World
from lambdas.core.errors import TransferFenced
from lambdas.core.places.machines import EndMachine
from lambdas.core.record import transfer_life
from lambdas.core.seats import commands
from lambdas.core.survey.survey import Mark, Marked
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.seats.commands import Order, answer, run_all

# Between the name of a mark and a path of the source; marks of the destination have their name alone.
_AT = "@"


def put(transfer: AcceptedTransfer, world: World, seconds: float) -> str:
    """Put a mark into the destination; its name, which nobody has asked for before.

    Raises CommandFailed, and TransferFenced where a later execution has the transfer, or it is being taken down.
    """
    name = token_hex(16)
    _note(transfer, world, name)
    _order(transfer, name, world, seconds, present=True)
    return name


def seen_at(
    transfer: AcceptedTransfer, world: World, seconds: float, path: str, machines: Sequence[EndMachine]
) -> list[bool]:
    """Whether other machines of the source see a mark that the first one puts into a path of it; it goes again.

    Raises what `put` does: CommandFailed also where nothing may be written.
    """
    mark = f"{token_hex(16)}{_AT}{path}"
    _note(transfer, world, mark)
    try:
        _order(transfer, mark, world, seconds, present=True)
        name, look = mark.partition(_AT)[0], [quote(path.encode(errors="surrogateescape"), safe="/~")]
        looks = [Order.on(machine, "scan", commands.marked(transfer, name, look)) for machine in machines]
        results = run_all(world, transfer, looks, seconds)
        return [Marked.from_document(answer(*one)).seen for one in zip(looks, results, strict=True)]
    finally:
        take_away(transfer, world, seconds, mark)


def take_away(transfer: AcceptedTransfer, world: World, seconds: float, own: str | None = None) -> None:
    """Take away what was put there and not seen to go, `own` whatever is noted by now; raises CommandFailed."""
    noted = _noted(transfer, world)
    for name in dict.fromkeys([*noted, *([own] if own else [])]):
        _order(transfer, name, world, seconds, present=False)
    if noted:
        world.transfers.change(transfer, transfer_life.note(marks=[]))


def _note(transfer: AcceptedTransfer, world: World, mark: str) -> None:
    if not world.transfers.change(transfer, transfer_life.note(marks=[*_noted(transfer, world), mark])):
        raise TransferFenced(f"{transfer.transfer_id} is being taken down, or goes on in another execution")


def _noted(transfer: AcceptedTransfer, world: World) -> list[str]:
    record = world.transfers.get(transfer.transfer_id)
    return record.marks if record and record.is_of(transfer) else []


def _order(transfer: AcceptedTransfer, mark: str, world: World, seconds: float, *, present: bool) -> None:
    name, at, path = mark.partition(_AT)
    order = (
        Order.on(transfer.at_source, "scan", commands.mark_source(transfer, path, name, present=present))
        if at
        else Order.on(transfer.at_destination, "scan", commands.mark(transfer, name, present=present))
    )
    Mark.from_document(answer(order, *run_all(world, transfer, [order], seconds)))
