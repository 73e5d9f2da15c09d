"""A seat that is lost or drained: retired while others of its side go on. Without others a loss ends the transfer."""

from typing import Any, NamedTuple

from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.errors import InvalidRequest, NotMoving, WriteConflict
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome
from lambdas.core.seats import retirement
from lambdas.core.seats.retirement import RetiredSeat, Step
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat
from lambdas.operations import named, token
from lambdas.operations.fleet import membership
from lambdas.operations.seats import reports

# Two that retire at once, and a start that is counted meanwhile: each refuses the other once.
_ATTEMPTS = 8


def lose(world: World, transfer: AcceptedTransfer, seat: Seat, outcome: Outcome, *, is_gone: bool) -> dict[str, Any]:
    """Retire a seat for the reason that `outcome` has, or end the transfer with it; what was done.

    `is_gone`: EC2 says that its machine is stopped or terminated.
    """
    for _ in range(_ATTEMPTS):
        record = world.transfers.get(transfer.transfer_id)
        if record is None:
            return {"released": False}
        if record.outcome is not None or not record.serves(transfer):
            return {"released": token.finish(world, transfer, outcome)}  # what has been noted counts
        step = retirement.step(seat.seat_id, transfer.seats, record.retired, is_gone=is_gone)
        if step is Step.FAIL:
            return {"released": token.finish(world, transfer, outcome)}
        if step is Step.NOTED:
            membership.settle(world, transfer.transfer_id)  # whoever retired it may have died before this
            return {"retired": seat.seat_id}
        now, why = world.clock.now(), f"{outcome.error}: {outcome.cause}"
        retired = (
            retirement.confirmed(record.retired, seat.seat_id)
            if step is Step.CONFIRM
            else retirement.with_seat(record.retired, seat, record.attempt, now, why, is_gone=is_gone)
        )
        if world.transfers.change(transfer, transfer_life.note_retired(record, retired)):
            membership.settle(world, transfer.transfer_id)
            return {"retired": seat.seat_id}
    raise WriteConflict(f"the seats of {transfer.transfer_id} changed {_ATTEMPTS} times while one was retired")


def settle(world: World, transfer: AcceptedTransfer) -> list[str]:
    """Have the ends know who is retired, and whose daemon says that it has ended since: these, by seat.

    Whoever retired a seat may have died before the ends were told.
    """
    ended: list[str] = []
    for _ in range(_ATTEMPTS):
        record = world.transfers.get(transfer.transfer_id)
        if record is None or not record.serves(transfer):
            return []
        told = reports.of_all(world, transfer)
        ended = [one.seat_id for one in record.retired if not one.is_gone and has_ended(one, told.get(one.seat_id))]
        retired = record.retired
        for seat_id in ended:
            retired = retirement.confirmed(retired, seat_id)
        if not ended or world.transfers.change(transfer, transfer_life.note_retired(record, retired)):
            break
    membership.settle(world, transfer.transfer_id)
    return ended


def has_ended(seat: RetiredSeat, told: Progress | None) -> bool:
    """Whether the last process of a retired seat says that it writes nothing any more."""
    return told is not None and told.has_ended is True and told.epoch <= seat.epoch


class Drained(NamedTuple):
    """The seat as the record has it, and whether this call has retired it."""

    seat: RetiredSeat
    is_new: bool


def drain(world: World, transfer: AcceptedTransfer, seat: Seat, why: str) -> Drained:
    """Retire a seat whose machine is wanted elsewhere; one that was retired before stays as it is.

    Raises NotMoving where the transfer is over, InvalidRequest where no other machine of its end is left.
    """
    for _ in range(_ATTEMPTS):
        record = named.transfer(world, transfer.transfer_id)
        if not record.moving or not record.is_of(transfer):
            raise NotMoving(f"'{transfer.transfer_id}' is over, or is being taken down; nothing was changed")
        step = retirement.step(seat.seat_id, transfer.seats, record.retired, is_gone=False)
        if step is Step.FAIL:
            raise InvalidRequest(_last(transfer, seat))
        retired = record.retired
        if step is Step.RETIRE:
            now = world.clock.now()
            retired = retirement.with_seat(retired, seat, record.attempt, now, why, is_gone=False, drained=True)
            if not world.transfers.change(transfer, transfer_life.note_retired(record, retired)):
                continue
        membership.settle(world, transfer.transfer_id)
        return Drained(next(one for one in retired if one.seat_id == seat.seat_id), step is Step.RETIRE)
    raise WriteConflict(f"the seats of {transfer.transfer_id} changed {_ATTEMPTS} times while one was drained")


def _last(transfer: AcceptedTransfer, seat: Seat) -> str:
    end, machine = ("source" if seat.role == "sender" else "destination"), seat.machine.instance_id
    return (
        f"$.instanceId: {machine} is the last machine of the {end} that '{transfer.transfer_id}' has left: without it "
        f"nothing is moved; let it end, or cancel it (cpt cancel {transfer.transfer_id})"
    )
