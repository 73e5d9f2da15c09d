from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.fleet.replacement import Remaining, why_not_replaced


def rest(**changes: Any) -> Remaining:
    """1 GB to go; 20 MB/s direct and a pair of 20 MB/s of which one relay was lost; the successor comes after 5 s."""
    usual = Remaining(size=1000, others=20, own=0, successor=20, spawn_seconds=5, source=160, destination=160, relays=1)
    return replace(usual, **changes)


def why(of: Remaining, generation: int = 0, made: int = 0, relays: int = 2, *, cheapest: bool = False) -> str | None:
    return why_not_replaced(of, generation, made, relays, cheapest=cheapest)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"others": 0},  # nothing else carries
        {"own": 4},  # slow, not lost
    ],
)
def test_replacement_pays_if_it_shortens_the_rest(changes: dict[str, float]) -> None:
    assert why(rest(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"spawn_seconds": 60}, "the rest takes 50 s, with a successor 50 s"),
        ({"spawn_seconds": 47}, "the rest takes 50 s, with a successor 48 s"),
        ({"source": 20}, "the rest takes 50 s, with a successor 50 s"),  # the ends are the limit
        ({"own": 19}, "the rest takes 26 s, with a successor 25 s"),
        ({"successor": 0, "others": 0}, "the rest takes inf s, with a successor inf s"),
        ({"size": 0}, "nothing is left to move"),
    ],
)
def test_replacement_that_shortens_nothing_does_not_pay(changes: dict[str, float], reason: str) -> None:
    assert why(rest(**changes)) == reason


def test_one_place_in_the_fleet_has_a_limit_and_so_has_the_transfer() -> None:
    assert why(rest(), generation=1, made=1) is None
    assert why(rest(), generation=2, relays=16) == "2 successors in one place are the most"
    assert why(rest(), made=2) == "2 replacements are the most for 2 relays"
    assert why(rest(), made=15, relays=16) is None
    assert why(rest(), made=16, relays=16) == "16 replacements are the most for 16 relays"


def test_least_cost_wants_no_more_relay_time() -> None:
    # One relay for 50 s more against two of which the successor is billed a minute.
    assert why(rest(), cheapest=True) == "a successor would cost more than the 22 s that it saves"
    # Nine relays that are up for a third of an hour less.
    long = rest(size=100_000, others=20, successor=20, relays=9)
    assert why(long, cheapest=True) is None


amounts = st.floats(0, 1e4)


@given(amounts, amounts, amounts, amounts, st.floats(0, 1e4), st.integers(1, 63))
def test_successor_never_makes_the_rest_longer_than_a_lost_relay_does(
    size: float, others: float, successor: float, spawn: float, ends: float, relays: int
) -> None:
    of = Remaining(size, others, 0.0, successor, spawn, ends + 1, ends + 1, relays)
    assert of.replaced() <= of.without() * (1 + 1e-9)
