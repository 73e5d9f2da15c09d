"""The fleets of the fleet's benchmark."""

from random import Random
from statistics import fmean, pstdev

import pytest

from bench.fleet.draws import Fleet, anything, fleet, neighbours


def test_the_same_seed_draws_the_same_fleet() -> None:
    assert fleet(Random(3), "a", 4, anything) == fleet(Random(3), "a", 4, anything)
    assert fleet(Random(3), "a", 4, anything) != fleet(Random(4), "a", 4, anything)


def test_a_pair_goes_as_fast_as_its_slower_relay() -> None:
    assert Fleet("a", (0.5, 1.0, 0.7), (0.6, 0.4, 0.7)).pairs == [0.5, 0.4, 0.7]


def test_neighbours_slow_down_one_in_ten_and_the_rest_are_alike() -> None:
    randomness = Random(1)
    shares = [neighbours(randomness) for _ in range(20_000)]
    slow = [share for share in shares if share < 0.8]
    assert len(slow) / len(shares) == pytest.approx(1 / 10, abs=0.01)
    assert max(shares) <= 1
    assert pstdev(shares) / fmean(shares) == pytest.approx(0.2, abs=0.01)
