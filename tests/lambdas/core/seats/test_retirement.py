"""Which seats are retired, and which loss ends the transfer."""

import pytest

from lambdas.core.seats.epochs import first_epoch, start_of
from lambdas.core.seats.retirement import RetiredSeat, Step, confirmed, living, step, with_seat
from tests.lambdas.many import many


def retired(*seat_ids: str, is_gone: bool = False) -> list[RetiredSeat]:
    return [
        RetiredSeat(seat_id=seat_id, instance_id="i-00000001", epoch=1, is_gone=is_gone, at=0.0, why="x")
        for seat_id in seat_ids
    ]


@pytest.mark.parametrize(
    ("senders", "receivers", "before", "lost", "follows"),
    [
        (1, 1, (), "s0", Step.FAIL),
        (1, 1, (), "r0", Step.FAIL),
        (2, 1, (), "s0", Step.RETIRE),
        (2, 1, (), "s1", Step.RETIRE),
        (2, 1, (), "r0", Step.FAIL),
        (2, 1, ("s0",), "s1", Step.FAIL),
        (2, 1, ("s0",), "s0", Step.NOTED),
        (1, 2, ("r1",), "r0", Step.FAIL),
        (3, 3, ("s0", "r2"), "s1", Step.RETIRE),
        (3, 3, ("s0", "s1"), "s2", Step.FAIL),
        (3, 3, ("s0", "s1"), "r0", Step.RETIRE),
    ],
)
def test_a_seat_is_retired_while_another_of_its_side_lives(
    senders: int, receivers: int, before: tuple[str, ...], lost: str, follows: Step
) -> None:
    seats = many(senders, receivers).seats
    assert step(lost, seats, retired(*before), is_gone=False) is follows


def test_a_retired_seat_whose_machine_ends_later_is_known_to_be_gone_from_then_on() -> None:
    before = retired("s0")
    assert step("s0", many(2, 1).seats, before, is_gone=True) is Step.CONFIRM
    after = confirmed(before, "s0")
    assert after[0].is_gone
    assert step("s0", many(2, 1).seats, after, is_gone=True) is Step.NOTED


def test_no_process_that_was_ordered_is_later_than_the_epoch_of_a_retired_seat() -> None:
    accepted = many(2, 1)
    (one,) = with_seat([], accepted.seat("s1"), 3, 7.0, "EndGone: x", is_gone=True)
    assert (start_of(one.epoch), one.epoch + 1) == (3, first_epoch(4))
    assert [seat.seat_id for seat in living(accepted, [one])] == ["r0", "s0"]
