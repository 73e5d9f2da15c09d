"""Seats: whose daemon says what, by ids that no two share."""

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from lambdas.core.transfer.seat import SeatId, role_of, seats_of
from tests.lambdas.builders import transfer

SEAT_ID: TypeAdapter[str] = TypeAdapter(SeatId)


def test_a_transfer_has_a_seat_at_each_end_and_those_that_receive_are_started_first() -> None:
    moved = transfer()
    assert [(seat.seat_id, seat.role, seat.machine) for seat in moved.seats] == [
        ("r0", "receiver", moved.at_destination),
        ("s0", "sender", moved.at_source),
    ]
    assert [moved.seat(seat.seat_id) for seat in moved.seats] == list(moved.seats)
    with pytest.raises(StopIteration):
        moved.seat("s1")


def test_where_nothing_is_moved_nobody_receives() -> None:
    assert [seat.seat_id for seat in transfer(profile="measure").seats] == ["s0"]


def test_seats_of_several_machines_are_numbered_by_their_order() -> None:
    machines = [transfer().at_source, transfer().at_destination]
    assert [(seat.seat_id, seat.machine) for seat in seats_of("receiver", machines)] == [
        ("r0", machines[0]),
        ("r1", machines[1]),
    ]


@pytest.mark.parametrize("text", ["s0", "r0", "s15", "r99"])
def test_id_says_the_role(text: str) -> None:
    assert role_of(SEAT_ID.validate_python(text)) == {"s": "sender", "r": "receiver"}[text[0]]


@pytest.mark.parametrize("text", ["", "s", "x0", "s01", "s100", "S0", "s-1", "s0\n"])
def test_text_that_is_no_seat_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match=re.escape("String should match pattern")):
        SEAT_ID.validate_python(text)
