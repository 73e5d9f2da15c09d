"""Why pairs are ranked, and not relays: what a second round of probes would gain (docs/design/007-fleet.md)."""

from random import Random
from statistics import fmean

import pytest

FLEETS = 2000


def carried(random: Random, pairs: int, sigma: float) -> tuple[float, float]:
    """MB/s of the better half of 2p pairs as they are, and of the better relays of each side, paired anew.

    A second round probes source i with destination i+1; a relay's rate is the better of its two results.
    """
    count = 2 * pairs
    sources, destinations = ([max(random.gauss(1, sigma), 0.1) for _ in range(count)] for _ in range(2))
    rounds = [[min(sources[i], destinations[(i + shift) % count]) for i in range(count)] for shift in (0, 1)]
    as_they_are = sum(sorted(rounds[0])[pairs:])
    of_source = [max(rounds[0][i], rounds[1][i]) for i in range(count)]
    of_destination = [max(rounds[0][i], rounds[1][i - 1]) for i in range(count)]
    best = [sorted(range(count), key=lambda i, of=of: -of[i])[:pairs] for of in (of_source, of_destination)]  # type: ignore[misc]
    return as_they_are, sum(min(sources[i], destinations[j]) for i, j in zip(*best, strict=True))


def gain(pairs: int, sigma: float) -> float:
    random = Random(1)
    found = [carried(random, pairs, sigma) for _ in range(FLEETS)]
    return fmean(anew for _, anew in found) / fmean(as_they_are for as_they_are, _ in found) - 1


@pytest.mark.parametrize("pairs", [1, 2, 4, 8])
def test_second_round_gains_less_than_five_percent_where_relays_differ_as_in_the_thesis(pairs: int) -> None:
    assert 0 < gain(pairs, 0.15) < 0.05


@pytest.mark.parametrize("pairs", [1, 2, 4, 8])
def test_where_relays_differ_twice_as_much_it_gains_less_than_ten_percent(pairs: int) -> None:
    assert 0.05 < gain(pairs, 0.3) < 0.1
