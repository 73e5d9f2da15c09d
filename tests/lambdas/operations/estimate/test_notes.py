"""What the notes of an estimate say of the numbers of its relays."""

from typing import Any

from lambdas.core.estimate.pair_route import PairRoute
from lambdas.operations.estimate.notes import of_counts
from tests.lambdas.builders import estimate


def counted(**route: Any) -> list[str]:
    found = estimate(2)
    figures = found.figures.model_copy(update={"pair_route": PairRoute(**route)})
    return of_counts(found.model_copy(update={"figures": figures}), 0.25)


def test_nothing_is_to_be_said_of_pairs() -> None:
    assert counted() == []


def test_of_sides_that_differ_it_says_what_they_carry_and_cost() -> None:
    (note,) = counted(asked=[2, 3])
    assert note.startswith("2 relays at the source and 3 at the destination")
    assert "carry what 2 pairs do" in note
    assert "all that are launched" in note


def test_existing_machines_are_said_to_carry_but_a_share() -> None:
    (note,) = counted(lent=[1, 0])
    assert "1 of 4 relays exist" in note
    assert "0.25" in note
