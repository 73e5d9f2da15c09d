"""Drain Seat: a machine that is taken back while the transfer goes on with the others of its end."""

from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest, NoSuchTransfer, NotMoving
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome
from lambdas.core.request.draining import DrainRequest
from lambdas.core.seats import retirement
from lambdas.core.seats.epochs import first_epoch
from lambdas.handlers.calls.drain_seat import drain_seat
from lambdas.operations.seats import retiring
from tests.lambdas.builders import progress
from tests.lambdas.machine_ends import hear, stopping
from tests.lambdas.many import begun, many
from tests.lambdas.several import Several


def drain(several: Several, seat_id: str, **more: Any) -> dict[str, Any]:
    machine = several.accepted.seat(seat_id).machine.instance_id
    return drain_seat(DrainRequest(transfer_id="first", instance_id=machine, **more), several.cloud.world)


@pytest.mark.parametrize("seat_id", ["s0", "s1", "r0", "r1"])
def test_the_others_go_on_and_the_seat_is_retired_as_drained(seat_id: str) -> None:
    several = Several()
    several.minute()
    machine = several.accepted.seat(seat_id).machine
    answer = drain(several, seat_id, reason="its host is retired")
    at = several.cloud.clock.time
    assert answer == {
        "transferId": "first",
        "instanceId": machine.instance_id,
        "seatId": seat_id,
        "changed": True,
        "drained": True,
        "retiredAt": at,
        "retiredBecause": "its host is retired",
    }
    (followed,) = several.membership.retired or []
    assert (followed.seat_id, followed.epoch, followed.is_gone) == (seat_id, first_epoch(2) - 1, False)
    used = {seat for _, _, sender, receiver in several.joined for seat in (sender, receiver)}
    assert used == {seat.seat_id for seat in several.accepted.seats} - {seat_id}
    assert several.minute()["heartbeat"]
    assert several.ended is None


def test_a_drained_machine_is_not_started_again_and_its_end_is_no_loss() -> None:
    several = Several()
    several.minute()
    drain(several, "r1")
    several.alive.pop("r1")
    assert all("silent" not in several.minute() for _ in range(8))
    assert several.sent("r1") == []
    several.machine_ends("r1")
    hear(stopping(several.accepted.seat("r1").machine.instance_id), several.cloud.world)
    (told,) = several.record.retired
    assert (told.drained, told.is_gone, told.why) == (True, True, "a person has drained it")
    assert several.ended is None


def test_draining_twice_changes_nothing() -> None:
    several = Several()
    several.minute()
    first = drain(several, "s1", reason="one")
    several.minute()
    before = (several.membership, several.record.retired)
    assert drain(several, "s1", reason="another") == {**first, "changed": False}
    assert (several.membership, several.record.retired) == before


def test_one_that_was_given_up_stays_given_up() -> None:
    several = Several()
    several.minute()
    several.machine_ends("s1")
    several.minute()
    answer = drain(several, "s1")
    assert (answer["changed"], answer["drained"]) == (False, False)
    assert answer["retiredBecause"].startswith("EndGone: ")


@pytest.mark.parametrize(("first", "last", "end"), [("s0", "s1", "source"), ("r1", "r0", "destination")])
def test_the_last_machine_of_an_end_is_not_drained(first: str, last: str, end: str) -> None:
    several = Several()
    several.minute()
    drain(several, first)
    before = several.membership
    with pytest.raises(InvalidRequest, match=rf"\$\.instanceId: i-\w+ is the last machine of the {end} .*cpt cancel"):
        drain(several, last)
    assert several.membership == before
    assert several.minute()["heartbeat"]


def test_the_only_machine_of_an_end_is_not_drained() -> None:
    with pytest.raises(InvalidRequest, match="last machine of the destination"):
        drain(Several(2, 1), "r0")


def test_of_two_that_are_drained_at_once_only_one_goes() -> None:
    several = Several()
    before = several.record
    drain(several, "s0")
    # Whoever read the record before this writes nothing by it.
    late = retirement.with_seat(
        before.retired, several.accepted.seat("s1"), before.attempt, 1.0, "x", is_gone=False, drained=True
    )
    assert several.cloud.transfers.change(several.accepted, transfer_life.note_retired(before, late)) is None
    with pytest.raises(InvalidRequest, match="last machine"):
        retiring.drain(several.cloud.world, several.accepted, several.accepted.seat("s1"), "x")


def test_a_machine_of_no_end_is_refused_with_those_that_there_are() -> None:
    several = Several()
    asked = DrainRequest(transfer_id="first", instance_id="i-00000000000000009")
    with pytest.raises(InvalidRequest) as refused:
        drain_seat(asked, several.cloud.world)
    assert all(seat.machine.instance_id in str(refused.value) for seat in several.accepted.seats)


def test_what_moves_nothing_is_refused() -> None:
    several = Several()
    with pytest.raises(NoSuchTransfer):
        drain_seat(DrainRequest(transfer_id="other", instance_id="i-00000000000000009"), several.cloud.world)
    accepted = many()
    early = DrainRequest(transfer_id="first", instance_id=accepted.seat("s1").machine.instance_id)
    with pytest.raises(NotMoving, match="moves nothing yet"):
        drain_seat(early, begun(accepted).world)


def test_one_that_is_over_or_taken_down_is_refused() -> None:
    for change in (transfer_life.FENCE, transfer_life.finish(Outcome(error="EndGone", cause="x"))):
        several = Several()
        several.minute()
        assert several.cloud.transfers.change(several.accepted, change)
        with pytest.raises(NotMoving, match="is over, or is being taken down"):
            drain(several, "s1")
        assert several.record.retired == []


def says_that_it_has_ended(several: Several, seat_id: str, epoch: int) -> None:
    told = progress(99, start=1, sent=1000).model_copy(update={"has_ended": True, "epoch": epoch})
    several.cloud.agents.progresses[several.accepted.partition, seat_id] = told


def test_the_minute_tells_the_others_that_a_drained_daemon_writes_nothing_any_more() -> None:
    several = Several()
    several.minute()
    drain(several, "r1")
    several.alive.pop("r1")
    assert not several.minute().get("settled")
    before = several.joined
    says_that_it_has_ended(several, "r1", first_epoch(1))
    assert several.minute()["settled"] == ["r1"]
    (told,) = several.membership.retired or []
    assert told.is_gone
    assert several.joined == before
    assert several.minute()["settled"] == []


def test_the_word_of_a_process_that_was_not_retired_counts_for_nothing() -> None:
    several = Several()
    several.minute()
    says_that_it_has_ended(several, "s1", first_epoch(1))
    several.alive.pop("s1")
    several.minute()
    assert several.record.retired == []
    several.alive["s1"] = 1
    several.minute()
    drain(several, "r1")
    several.alive.pop("r1")
    says_that_it_has_ended(several, "r1", first_epoch(7))
    several.minute()
    (told,) = several.membership.retired or []
    assert not told.is_gone
