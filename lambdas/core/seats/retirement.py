"""Seats that are given up while others of their side go on (docs/design/061-many-machines)."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Document, InstanceId
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat, SeatId, role_of


class RetiredSeat(Document):
    """A seat that counts no more: it was drained, its machine was lost, or its restarts are used up; Unix seconds.

    `epoch`: no later process of it was ordered. `is_gone`: EC2 says that its machine is stopped or terminated, or its
    daemon that it has ended.
    """

    seat_id: SeatId
    instance_id: InstanceId
    epoch: Annotated[int, Field(ge=1)]
    is_gone: bool
    at: float
    why: str
    drained: Literal[True] | None = None
    """A person has taken the machine back; None where it was lost."""


class Step(Enum):
    """What follows from a seat that is lost."""

    RETIRE = "others of its side go on"
    FAIL = "it was the last of its side"
    NOTED = "it was retired before"
    CONFIRM = "it was retired before, and now its machine is known to be gone"


def step(seat_id: str, seats: Iterable[Seat], retired: Sequence[RetiredSeat], *, is_gone: bool) -> Step:
    """What to do about a seat that is lost; `seats`: of both ends."""
    known = next((one for one in retired if one.seat_id == seat_id), None)
    if known is not None:
        return Step.CONFIRM if is_gone and not known.is_gone else Step.NOTED
    gone = {seat_id, *(one.seat_id for one in retired)}
    others = [seat for seat in seats if seat.role == role_of(seat_id) and seat.seat_id not in gone]
    return Step.RETIRE if others else Step.FAIL


def with_seat(
    retired: Sequence[RetiredSeat],
    seat: Seat,
    attempt: int,
    now: float,
    why: str,
    *,
    is_gone: bool,
    drained: bool = False,
) -> list[RetiredSeat]:
    """The retired seats with one more; `attempt`: the last start that was ordered, of whatever seat."""
    new = RetiredSeat(
        seat_id=seat.seat_id,
        instance_id=seat.machine.instance_id,
        epoch=first_epoch(attempt + 1) - 1,
        is_gone=is_gone,
        at=now,
        why=why,
        drained=True if drained else None,
    )
    return [*retired, new]


def confirmed(retired: Sequence[RetiredSeat], seat_id: str) -> list[RetiredSeat]:
    """The same, of which the machine of one seat is known to be gone."""
    return [one.model_copy(update={"is_gone": True}) if one.seat_id == seat_id else one for one in retired]


def living(transfer: AcceptedTransfer, retired: Iterable[RetiredSeat]) -> tuple[Seat, ...]:
    """The seats in which a daemon is to work."""
    gone = {one.seat_id for one in retired}
    return tuple(seat for seat in transfer.seats if seat.seat_id not in gone)
