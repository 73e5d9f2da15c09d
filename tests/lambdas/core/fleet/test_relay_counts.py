from typing import Any

from lambdas.core.fleet.relay_counts import RelayCounts
from lambdas.core.request.relays_request import RelaysRequest


def relay_counts(existing: dict[int, int] | None = None, **relays: Any) -> RelayCounts:
    return RelayCounts(RelaysRequest.from_document(relays), existing or {})


def test_pairs_are_as_many_on_both_sides() -> None:
    pairs = relay_counts(pairs=3)
    assert pairs.of_stages(2) == (2, 2)
    assert (pairs.launched(0), pairs.launched(3)) == (0, 6)
    assert pairs.notes(3) == []


def test_sides_that_differ_are_launched_as_asked() -> None:
    sides = relay_counts(pairs={"source": 2, "destination": 3})
    assert sides.of_stages(2) == (2, 3)
    assert sides.launched(2) == 5
    (note,) = sides.notes(2)
    assert "carry what 2 pairs do" in note
    assert "all that are launched" in note


def test_fewer_pairs_than_the_sides_asked_for_are_pairs() -> None:
    assert relay_counts(pairs={"source": 2, "destination": 3}).launched(1) == 2


def test_existing_machines_fill_the_first_slots_and_are_not_launched() -> None:
    mixed = relay_counts({0: 2}, pairs=3)
    assert mixed.to_launch(3) == {0: [3], 1: [1, 2, 3]}
    assert mixed.launched(3) == 4
    assert mixed.to_launch(1) == {1: [1]}


def test_stage_that_needs_nobody_is_not_launched() -> None:
    assert relay_counts({0: 2, 1: 1}, pairs=2).to_launch(2) == {1: [2]}


def test_as_many_pairs_are_launched_as_the_money_bears() -> None:
    assert relay_counts(pairs=3).most_pairs(5, 3) == 2
    assert relay_counts({0: 3}, pairs=3).most_pairs(2, 3) == 2
    assert relay_counts(pairs={"source": 2, "destination": 3}).most_pairs(4, 2) == 1


def test_notes_say_that_existing_machines_carry_but_a_share() -> None:
    (note,) = relay_counts({0: 1}, pairs=2, existingShare=0.25).notes(2)
    assert "1 of 4 relays exist" in note
    assert "0.25" in note
