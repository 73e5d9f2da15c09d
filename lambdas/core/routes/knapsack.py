"""One size of one route of each group, so that they carry most together: exact, by a table over numbers of relays."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lambdas.core.routes.growth import ROUNDING


class Size(NamedTuple):
    """A candidate at one of its steps, with its relays and what it is worth in MB/s."""

    relays: int
    rate: float
    candidate: int
    step: int


Picks = tuple[tuple[int, int], ...]
"""(candidate, step) of every route of a choice."""


def useful(sizes: Iterable[Size]) -> list[Size]:
    """Of sizes by relays, then the best first: those that no other one equals with as few relays."""
    kept: list[Size] = []
    for size in sizes:
        if size.rate > (kept[-1].rate if kept else 0.0) * (1 + ROUNDING):
            kept.append(size)
    return kept


class Table:
    """The best choice of at most one size of each group, for every number of relays and of routes at most.

    Sizes of a group are in the order of `useful`.
    `most_routes`: None for any number of routes, which are all in row 1.
    """

    def __init__(self, groups: Iterable[Sequence[Size]], most_relays: int, most_routes: int | None) -> None:
        self.unlimited = most_routes is None
        self.rows = most_routes or 1
        self.rates = [[0.0] * (most_relays + 1) for _ in range(self.rows + 1)]
        self._taken: list[list[list[Size | None]]] = []
        for group in groups:
            self._add(useful(group))

    def _add(self, sizes: Sequence[Size]) -> None:
        after = [row[:] for row in self.rates]
        taken: list[list[Size | None]] = [[None] * len(row) for row in self.rates]
        for row in range(1, self.rows + 1):
            before, now, took = self.rates[row if self.unlimited else row - 1], after[row], taken[row]
            for size in sizes:
                relays, rate = size.relays, size.rate
                for total in range(relays, len(now)):
                    carried = before[total - relays] + rate
                    if carried > now[total] * (1 + ROUNDING):
                        now[total], took[total] = carried, size
        self.rates = after
        self._taken.append(taken)

    def rises(self, row: int) -> Iterator[tuple[int, float]]:
        """Each number of relays that carries more than one fewer, with its rate; none first."""
        most = -1.0
        for relays, rate in enumerate(self.rates[row]):
            if rate > most:
                yield relays, rate
                most = rate

    def picks(self, row: int, relays: int) -> Picks:
        """What the rate at this place is made of."""
        found = []
        for taken in reversed(self._taken):
            size = taken[row][relays]
            if size is not None:
                found.append((size.candidate, size.step))
                relays -= size.relays
                row -= 0 if self.unlimited else 1
        return tuple(found)
