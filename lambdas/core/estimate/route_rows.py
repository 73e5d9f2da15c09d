"""Rows with planned routes: as many relays as p pairs have, placed where they carry most."""

from collections.abc import Sequence
from typing import Protocol

from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.row_cost import RELAYS_OF_PAIR
from lambdas.core.estimate.rows import Row, row_with


class Planner(Protocol):
    """Plans routes for a number of relays. `is_quick`: so that rows between others are worth looking at."""

    @property
    def is_quick(self) -> bool:
        """Return whether many plans may be made for one estimate."""
        ...

    def uses(self, relays: int, most_rate: float) -> list[RouteUse]:
        """The best routes with so many relays at most; `most_rate`: MB/s that are of use."""
        ...


class PairsAlone:
    """Plans nothing: pairs are the only route."""

    is_quick = True

    def uses(self, relays: int, most_rate: float) -> list[RouteUse]:
        """No other one, whatever is asked for."""
        return []


# Relays for less of what the ends move make no difference that is worth them.
LEAST_USEFUL = 0.01


def routed(
    planner: Planner, size_bytes: int, counts: Sequence[int], figures: Figures, pre_test_seconds: float = 0.0
) -> list[Row | None]:
    """For each number of pairs the row of the best routes with as many relays; None where pairs are the best.

    `pre_test_seconds`: how long each hop of the routes is measured, 0 without a pre-test.
    """
    return [_routed(planner, size_bytes, pairs, figures, pre_test_seconds) if pairs else None for pairs in counts]


def beyond(planner: Planner, size_bytes: int, most_pairs: int, counts: Sequence[int], figures: Figures) -> list[Row]:
    """Rows of more relays than the quotas leave pairs: one side may have few, and the other one many.

    `most_pairs`: what the quotas leave; `counts`: as many relays as so many pairs have, fewest first.
    """
    found: list[Row] = []
    for pairs in counts:
        row = _routed(planner, size_bytes, pairs, figures)
        if row is None:
            break
        found.append(row)
    before = [most_pairs, *counts]
    while found and _relays(found[-1], figures) <= RELAYS_OF_PAIR * before[len(found) - 1]:
        found.pop()  # as many relays as a row before it
    return found


def _relays(row: Row, figures: Figures) -> int:
    return sum(use.count for use in row.uses(figures))


def _routed(
    planner: Planner, size_bytes: int, pairs: int, figures: Figures, pre_test_seconds: float = 0.0
) -> Row | None:
    uses = planner.uses(RELAYS_OF_PAIR * pairs, _useful(figures))
    if all(not use.between and len(set(use.relays)) == 1 for use in uses):
        return None
    return row_with(size_bytes, pairs, uses, figures, pre_test_seconds)


def _useful(figures: Figures) -> float:
    """MB/s beside the direct path that the ends can use at most; not 0, for what the direct path gives away."""
    ends = min(figure.most for figure in figures.of_ends.values())
    return max(ends - figures.direct.now, LEAST_USEFUL * ends)
