"""The watch over both ends, from records alone: no answer of EC2 or SSM is waited for here.

A task's heartbeat depends on this look. What a silent end needs is put onto the bus, where another function sees to it.
"""

from typing import Any

from lambdas.adapters.records import ControlToken
from lambdas.adapters.world import World
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned, TransferRecord
from lambdas.core.seats import liveness
from lambdas.core.seats.liveness import MOST_RESTARTS, Seats
from lambdas.core.seats.retirement import Step, step
from lambdas.core.transfer.record_format import FORMAT_VERSION
from lambdas.operations.fleet.remaining import ends_mb_s
from lambdas.operations.seats import reports


def look_at(world: World, transfer_id: str) -> dict[str, Any] | None:
    """A heartbeat where all ends advance, or where a silent one is started again; None where no end is to run."""
    record = world.transfers.get(transfer_id)
    if not isinstance(record, Planned) or record.transfer.format_version != FORMAT_VERSION:
        return None
    if not record.moving or record.outcome is not None:
        return None
    held = world.tokens.get(transfer_id)
    return None if held is None else _look(world, record, held)


def _look(world: World, record: Planned, held: ControlToken) -> dict[str, Any]:
    transfer, now = record.transfer, world.clock.now()
    seats = seen(world, record, held, now)
    seat_id = silent(record, seats, now)
    if seat_id and is_given_up(seats, seat_id):
        _tell(world, record, seat_id, seats)
        return {"silent": seat_id, "heartbeat": _others_beat(world, record, held, seats, seat_id)}
    if seat_id:
        counted = world.transfers.change(transfer, transfer_life.COUNT_ATTEMPT)
        if counted is None or seat_id not in {seat.seat_id for seat in counted.living}:
            return {"heartbeat": False}  # a later execution has taken it up, or the seat was retired meanwhile
        seats = seats.restarted(seat_id, counted.attempt, now)
    advance = _living(record, seats).advance
    if not world.transfers.change(transfer, transfer_life.note(seats=seats.beaten() if advance else seats)):
        return {"heartbeat": False}  # another look is at work
    if seat_id:
        # The heartbeat first: it is due, whether or not the bus takes the event.
        beaten = world.executions.heartbeat(held.token)
        _tell(world, record, seat_id, seats)
        return {"silent": seat_id, "heartbeat": beaten}
    return {"heartbeat": advance and world.executions.heartbeat(held.token)}


def silent(record: Planned, seats: Seats, now: float) -> str | None:
    """The seat that is silent, as it was seen; a retired one is not."""
    return _living(record, seats).silent(now, liveness.still_seconds(record.plan, ends_mb_s(record)))


def _living(record: TransferRecord, seats: Seats) -> Seats:
    return seats.only(seat.seat_id for seat in record.living) if record.retired else seats


def _others_beat(world: World, record: TransferRecord, held: ControlToken, seats: Seats, lost: str) -> bool:
    """A heartbeat for those that go on without a seat which is given up; False where it is the last of its side."""
    if step(lost, record.transfer.seats, record.retired, is_gone=False) is not Step.RETIRE:
        return False
    others = seats.only(seat.seat_id for seat in record.living if seat.seat_id != lost)
    if not others.advance or not world.transfers.change(record.transfer, transfer_life.note(seats=seats.beaten())):
        return False
    return world.executions.heartbeat(held.token)


def is_given_up(seats: Seats, seat_id: str) -> bool:
    """Return whether another start of this seat would fail as the others did."""
    view = seats.of(seat_id)
    return view is not None and view.restarts >= MOST_RESTARTS


def _tell(world: World, record: Planned, seat_id: str, seats: Seats) -> None:
    start = seats.seats[seat_id].start
    world.events.put("End Silent", {"transferId": record.transfer.transfer_id, "seat": seat_id, "start": start})


def seen(world: World, record: Planned, held: ControlToken, now: float) -> Seats:
    """What one look more finds; nothing is noted."""
    return _known(record, held, now).seen(reports.of_all(world, record.transfer), now)


def _known(record: TransferRecord, held: ControlToken, now: float) -> Seats:
    """Return what earlier looks saw; a task that was started anew has all of them anew."""
    if record.seats is not None and record.seats.task == held.start:
        return record.seats
    version = record.seats.version if record.seats else 0
    return Seats.begun(held.start, now, (seat.seat_id for seat in record.transfer.seats), version=version)
