"""When other transfers of the deployment used the same ends: what was measured then is nobody's own rate.

A transfer that is still active shows it in its record. One that ends first leaves it in the records of the others.
Each looks before it is closed, and reads what others left when it is: of two that end in one moment the one that closes
first was seen by the other, or has told it.
"""

from lambdas.adapters.world import World
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Beside, TransferRecord
from lambdas.core.transfer.accepted import AcceptedTransfer

# From here on an end sends or receives.
_MOVES = ("Start Transfer", "Start Sender")
MOST = 50
_ATTEMPTS = 8
"""Entries of a record. Short transfers beside one of a week would fill its item, which holds 400 KB, and so end it."""


def find(world: World, record: TransferRecord, first: float | None, last: float | None) -> list[Beside]:
    """When others that are active used either end of a transfer that moved data from `first` to `last`, Unix seconds.

    They are told, for their own reports, when this one did.
    """
    own, now, found = record.transfer, world.clock.now(), list[Beside]()
    for other in world.transfers.active():
        if other.transfer.execution_arn == own.execution_arn or not _ends(own) & _ends(other.transfer):
            continue
        since = next((other.stages[name].get("enteredAt") for name in _MOVES if name in other.stages), None)
        if since is not None:
            found.append(Beside(transfer_id=other.transfer.transfer_id, since=since, until=now))
        if first is not None and last is not None:
            _tell(world, other, Beside(transfer_id=own.transfer_id, since=first, until=last))
    return found


def _tell(world: World, other: TransferRecord | None, mine: Beside) -> None:
    """Add it to what the other has been told; of several that end in one moment each comes again until it is there."""
    for _ in range(_ATTEMPTS):
        if other is None or other.closed:
            return  # it has read what it was told
        told = transfer_life.note_beside(other.beside, _bounded([*other.beside, mine]))
        if world.transfers.change(other.transfer, told):
            return
        other = world.transfers.get(other.transfer.transfer_id)


def _bounded(told: list[Beside]) -> list[Beside]:
    """At most `MOST`: the oldest become one, from the first to the last of them, in which nothing is learnt."""
    extra = len(told) - MOST
    if extra <= 0:
        return told
    oldest = told[: extra + 1]
    since, until = min(one.since for one in oldest), max(one.until for one in oldest)
    return [Beside(transfer_id=oldest[-1].transfer_id, since=since, until=until), *told[extra + 1 :]]


def _ends(transfer: AcceptedTransfer) -> set[str]:
    return {seat.machine.instance_id for seat in (*transfer.senders, *transfer.receivers)}
