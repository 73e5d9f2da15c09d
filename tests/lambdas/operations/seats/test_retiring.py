"""Machines that are lost while others of their side go on, as the minute finds them."""

import pytest

from lambdas.core.record import transfer_life
from lambdas.core.seats import retirement
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.seats.liveness import MOST_RESTARTS
from lambdas.handlers.states.start_transfer import StartInput, start_transfer
from tests.lambdas.fleet import attempt
from tests.lambdas.machine_ends import hear, stopping
from tests.lambdas.several import Several


@pytest.mark.parametrize("seat_id", ["s0", "s1", "r0", "r1"])
def test_the_transfer_goes_on_without_a_machine_that_was_terminated(seat_id: str) -> None:
    several = Several()
    several.minute()
    several.machine_ends(seat_id)
    found = several.minute()
    assert {"gaveUp": seat_id, "retired": seat_id}.items() <= found.items()
    assert several.sent(seat_id) == []
    (told,) = several.membership.retired or []
    assert (told.seat_id, told.is_gone) == (seat_id, True)
    other = f"{seat_id[0]}{1 - int(seat_id[1])}"
    used = {seat for _, _, sender, receiver in several.joined for seat in (sender, receiver)}
    assert used == {seat.seat_id for seat in several.accepted.seats} - {seat_id}
    assert other in used
    assert several.minute()["heartbeat"]
    assert several.ended is None


def test_the_record_says_who_was_retired_when_and_why() -> None:
    several = Several()
    several.minute()
    several.machine_ends("s1")
    several.minute()
    (told,) = several.record.retired
    machine = several.accepted.seat("s1").machine
    assert (told.seat_id, told.instance_id, told.at) == ("s1", machine.instance_id, several.cloud.clock.time)
    assert told.why == f"EndGone: the machine of the sender, {machine.instance_id} (us-west-2), is terminated"


def test_a_seat_whose_restarts_are_used_up_is_retired_and_not_known_to_be_gone() -> None:
    several = Several()
    several.minute()
    del several.alive["r1"]
    found = [several.minute() for _ in range(14)]
    assert several.sent("r1") == [2, 3, 4]
    assert sum("restarted" in each for each in found) == MOST_RESTARTS
    (told,) = several.membership.retired or []
    assert (told.seat_id, told.epoch, told.is_gone) == ("r1", first_epoch(5) - 1, False)
    assert several.joined == [("direct", 0, "s0", "r0"), ("direct-1", 1, "s1", "r0")]


def test_no_heartbeat_is_missed_for_five_minutes_while_a_machine_is_given_up() -> None:
    several = Several(3, 2)
    several.minute()
    del several.alive["s1"], several.alive["s2"]
    beats = [several.minute()["heartbeat"] for _ in range(30)]
    assert {one.seat_id for one in several.record.retired} == {"s1", "s2"}
    missed = "".join("+" if beat else "-" for beat in beats).split("+")
    assert max(len(gap) for gap in missed) < 4
    assert beats[-1]


def test_the_last_machine_of_a_side_fails_the_transfer() -> None:
    several = Several()
    several.minute()
    several.machine_ends("s0")
    several.minute()
    several.machine_ends("s1")
    found = several.minute()
    assert {"gaveUp": "s1", "released": True}.items() <= found.items()
    assert several.ended == "EndGone"


def test_what_ec2_says_of_a_machine_retires_its_seat_before_the_watch_sees_it() -> None:
    several = Several()
    several.minute()
    several.machine_ends("r0")
    hear(stopping(several.accepted.seat("r0").machine.instance_id), several.cloud.world)
    assert [one.seat_id for one in several.record.retired] == ["r0"]
    assert several.joined == [("direct", 1, "s0", "r1"), ("direct-1", 0, "s1", "r1")]


def test_a_retired_seat_whose_machine_ends_at_last_is_said_to_be_gone() -> None:
    several = Several()
    several.minute()
    del several.alive["r1"]
    for _ in range(14):
        several.minute()
    assert not several.record.retired[0].is_gone
    before = several.joined
    several.machine_ends("r1")
    hear(stopping(several.accepted.seat("r1").machine.instance_id), several.cloud.world)
    (told,) = several.membership.retired or []
    assert told.is_gone
    assert several.joined == before


def test_of_two_senders_that_are_lost_at_once_one_is_retired_and_the_other_ends_the_transfer() -> None:
    several = Several()
    several.minute()
    several.machine_ends("s0")
    several.machine_ends("s1")
    for _ in range(3):
        several.minute()
    assert len(several.record.retired) == 1
    assert several.ended == "EndGone"


def test_the_last_word_of_a_retired_seat_does_not_end_the_transfer() -> None:
    several = Several()
    several.minute()
    several.machine_ends("s1")
    several.minute()
    assert several.says("s1", "ChunksFailed") == {"ignored": "s1 is retired"}
    several.minute()
    assert several.ended is None


def test_a_later_start_of_the_task_leaves_retired_seats_out() -> None:
    several = Several()
    several.minute()
    several.machine_ends("s1")
    several.minute()
    start_transfer(StartInput(transfer=several.accepted, task_token="again"), several.cloud.world)
    assert [several.sent(seat_id) for seat_id in ("s0", "s1", "r0", "r1")] == [[3], [], [3], [3]]
    several.alive = {"s0": 3, "r0": 3, "r1": 3}
    assert several.minute()["heartbeat"]


def test_the_minute_tells_the_ends_of_a_retired_seat_where_whoever_retired_it_died_before() -> None:
    several = Several()
    several.minute()
    record = several.record
    retired = retirement.with_seat([], several.accepted.seat("s1"), record.attempt, 1.0, "x", is_gone=True)
    assert several.cloud.transfers.change(several.accepted, transfer_life.note_retired(record, retired))
    assert several.membership.retired is None
    several.minute()
    assert several.membership.retired is not None


def test_no_start_is_counted_between_the_look_and_the_retirement() -> None:
    several = Several()
    record = several.record
    retired = retirement.with_seat([], several.accepted.seat("s1"), record.attempt, 1.0, "x", is_gone=True)
    attempt(several.cloud, several.accepted)
    assert several.cloud.transfers.change(several.accepted, transfer_life.note_retired(record, retired)) is None
