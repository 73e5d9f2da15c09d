"""Where a rate fell for good: a burst that ended, before which more passed than lasts."""

from collections.abc import Sequence
from itertools import accumulate
from statistics import median

from lambdas.core.learning.path_rates import LEAST_SECONDS, Rates

FALL = 1.25
"""A burst is faster than what lasts by this at least: less may be another load on the same network."""
LASTS_SECONDS = 10
"""What is slow for so long and to the end is no hiccup."""
EVEN, EVEN_SECONDS = 0.15, 0.8
"""Both rates are even: four of five seconds lie so near to the median. Those of a network that others use do not."""


def split(seconds: Sequence[Rates]) -> tuple[list[Rates], list[Rates]]:
    """The seconds before and after the sum of all paths fell for good; all of them and none where it did not.

    The second in which it fell, and its neighbour, belong to neither.
    """
    sums = [sum(rates.values()) for rates in seconds]
    at = _change(sums)
    before, after = sums[: at - 1], sums[at + 1 :]
    fell = (
        len(before) >= LEAST_SECONDS
        and len(after) >= LASTS_SECONDS
        and median(before) >= FALL * median(after)
        and _is_even(before)
        and _is_even(after)
    )
    return (list(seconds[: at - 1]), list(seconds[at + 1 :])) if fell else (list(seconds), [])


def _is_even(sums: Sequence[float]) -> bool:
    middle = median(sums)
    return sum(abs(one - middle) <= EVEN * middle for one in sums) >= EVEN_SECONDS * len(sums)


def fallen(before: Sequence[Rates], after: Sequence[Rates]) -> dict[str, tuple[float, float]]:
    """Of each path that fell, its rate before and after, MB/s."""
    rates = {path: tuple(median(second[path] for second in part) for part in (before, after)) for path in before[0]}
    return {path: (one, other) for path, (one, other) in rates.items() if one >= FALL * other}


def _change(sums: Sequence[float]) -> int:
    """The place that parts the seconds into the two most unlike halves: their means differ most for their lengths."""
    whole, count = sum(sums), len(sums)
    if count < 2:
        return count

    def unlike(at: int, part: float) -> float:
        return (part / at - (whole - part) / (count - at)) ** 2 * at * (count - at)

    parts = list(accumulate(sums[:-1]))
    return max(range(1, count), key=lambda at: unlike(at, parts[at - 1]))
