"""Daemons that end with a failure of their own while others of their side go on."""

import pytest

from lambdas.core.errors import EndNotStarted
from lambdas.core.seats.last_words import OF_MACHINE, OF_TRANSFER
from lambdas.handlers.states.start_transfer import StartInput, start_transfer
from tests.lambdas.several import Several


@pytest.mark.parametrize("seat_id", ["s0", "s1", "r0", "r1"])
@pytest.mark.parametrize("error", sorted(OF_MACHINE))
def test_a_machine_that_says_that_it_cannot_go_on_is_retired(seat_id: str, error: str) -> None:
    several = Several()
    several.minute()
    assert several.says(seat_id, error) == {"retired": seat_id}
    (told,) = several.record.retired
    role = "sender" if seat_id.startswith("s") else "receiver"
    assert (told.seat_id, told.why, told.is_gone) == (seat_id, f"{error}: {role}: of this machine", False)
    assert seat_id not in {seat for _, _, sender, receiver in several.joined for seat in (sender, receiver)}
    del several.alive[seat_id]
    assert several.minute()["heartbeat"]
    assert several.ended is None


@pytest.mark.parametrize("error", sorted(OF_TRANSFER))
def test_a_failure_of_what_machines_share_ends_the_transfer_at_once(error: str) -> None:
    several = Several()
    several.minute()
    assert several.says("s1", error) == {"released": True}
    assert several.record.retired == []
    assert several.ended == error


@pytest.mark.parametrize("seat_ids", [("s0", "s1"), ("s1", "s0"), ("r0", "r1"), ("r1", "r0")])
def test_where_all_of_a_side_cannot_go_on_the_last_one_ends_the_transfer(seat_ids: tuple[str, str]) -> None:
    several = Several()
    several.minute()
    assert several.says(seat_ids[0], "NotEnoughMemory") == {"retired": seat_ids[0]}
    assert several.says(seat_ids[1], "NoKey") == {"released": True}
    assert several.ended == "NoKey"


def test_the_minute_retires_a_seat_of_whose_last_word_no_event_came_and_both_where_both_have_said_so() -> None:
    several = Several()
    several.minute()
    several.note("s1", "NotEnoughMemory")
    several.minute()
    assert [one.seat_id for one in several.record.retired] == ["s1"]
    several.note("r0", "ControlUnavailable")
    several.note("r1", "ControlUnavailable")
    several.minute()
    assert [one.seat_id for one in several.record.retired] == ["s1", "r0"]
    assert several.ended == "ControlUnavailable"


def test_the_last_word_of_an_earlier_start_retires_nobody() -> None:
    several = Several()
    several.minute()
    start_transfer(StartInput(transfer=several.accepted, task_token="again"), several.cloud.world)
    assert "ignored" in several.says("s1", "NotEnoughMemory")
    assert several.record.retired == []


@pytest.mark.parametrize("seat_id", ["s1", "r0"])
def test_a_machine_on_which_no_daemon_starts_is_retired_where_another_one_has_started(seat_id: str) -> None:
    several = Several()
    several.cannot_start(seat_id)
    started = start_transfer(StartInput(transfer=several.accepted, task_token="token"), several.cloud.world)
    assert started["started"]
    (told,) = several.record.retired
    assert told.seat_id == seat_id
    assert told.why.startswith("EndNotStarted: ")
    assert "no memory" in told.why
    assert several.record.outcome is None


@pytest.mark.parametrize("seat_ids", [("s0", "s1"), ("r0", "r1")])
def test_a_side_on_which_no_daemon_starts_ends_the_transfer(seat_ids: tuple[str, str]) -> None:
    several = Several()
    for seat_id in seat_ids:
        several.cannot_start(seat_id)
    with pytest.raises(EndNotStarted, match="no memory"):
        start_transfer(StartInput(transfer=several.accepted, task_token="token"), several.cloud.world)
    assert several.record.retired == []
