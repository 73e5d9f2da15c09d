"""Which numbers of pairs have a row: each to 8, beyond that by doubling, and those on both sides of the best one."""

from collections.abc import Iterable, Sequence

from lambdas.core.estimate.rows import Row

EACH_TO = 8
"""Beyond it a single pair changes little: the ninth shortens what all paths carry together by a tenth at most."""
LEAST_SHARE = 0.01
"""Rows that are shorter by less than this share are equal: an estimate is not better than that."""


def coarse(most: int) -> list[int]:
    """Each number of pairs to `EACH_TO`, then by doubling, and `most`."""
    found = list(range(min(EACH_TO, most) + 1))
    while found[-1] < most:
        found.append(min(2 * found[-1], most))
    return found


def between(best: int, counts: Sequence[int]) -> list[int]:
    """The numbers of pairs that `counts` leave out on both sides of `best`, where a better one may be."""
    below = max((count for count in counts if count < best), default=best)
    above = min((count for count in counts if count > best), default=best)
    return [count for count in range(below + 1, above) if count not in counts]


def kept(best: int, counts: Iterable[int]) -> set[int]:
    """`counts`, with `best` and one pair fewer and more where that is no more than the most."""
    found = set(counts)
    return found | {count for count in (best - 1, best, best + 1) if 0 <= count <= max(found)}


def until_full(rows: Sequence[Row]) -> list[Row]:
    """The rows up to the first beyond `EACH_TO` after which more pairs bring nothing, expected or at best.

    Then the ends are full, or nothing is left when more relays serve.
    """
    found: list[Row] = []
    for row in rows:
        if row.pairs > EACH_TO and not _shorter(row, found[-1]):
            break
        found.append(row)
    return found


def _shorter(row: Row, before: Row) -> bool:
    expected = row.seconds < before.seconds * (1 - LEAST_SHARE)
    return expected or row.bounds[0] < before.bounds[0] * (1 - LEAST_SHARE)
