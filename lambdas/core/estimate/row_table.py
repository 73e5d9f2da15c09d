"""The rows of one estimate: plain or with a pre-test, in pairs or on routes, for the numbers of pairs that matter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lambdas.core.documents import MAX_STAGES
from lambdas.core.estimate import pre_tests, route_rows, row_counts
from lambdas.core.estimate.budget import within
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.pre_test_choice import better_of
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.rows import Row, build_row
from lambdas.core.estimate.ways import Ways
from lambdas.core.estimate.whole_time import WholeTime
from lambdas.core.fleet.relay_counts import RelayCounts
from lambdas.core.request.request import Objective

HOPS_OF_ROUTE = MAX_STAGES - 1
"""Between its relays, of the longest route: before the plan is made nobody knows which it has."""


@dataclass(frozen=True)
class RowTable:
    """What rows are made from. `pre_test_seconds`: for how long a pre-test measures each hop; `most_tested`: pairs that
    quotas leave for one; `whole`: what is around the data; `ways`: what routes and unequal sides are planned from.
    """

    size_bytes: int
    figures: Figures
    objective: Objective
    pre_test: bool | Literal["auto"]
    pre_test_seconds: float
    most_tested: int
    relay_counts: RelayCounts
    whole: WholeTime | None
    ways: Ways | None

    def rows(self, most: int, wanted: int, requested: int | Literal["auto"], also: Iterable[int] = ()) -> list[Row]:
        """Rows up to `most` pairs, in order, and beyond them up to as many relays as `wanted` pairs have.

        `requested`: the pairs that were asked for; `also`: numbers of pairs that must have a row.
        """
        counts = row_counts.coarse(most)
        every = self._of(counts)
        if requested == "auto":
            every = row_counts.until_full(every)
        also = [count for count in also if count <= most]
        if self.ways:
            if requested == "auto" and len(every) == len(counts):
                more = [count for count in row_counts.coarse(wanted) if count > most]
                every += self._beyond(every[0], most, more)
            return self._with(every, also)
        found = [row.pairs for row in every]
        finer = row_counts.between(self._best(every, requested).pairs, found)
        every = self._with(every, finer)
        keep = row_counts.kept(self._best(every, requested).pairs, found).union(also)
        return [row for row in self._with(every, also) if row.pairs in keep]

    def _with(self, rows: list[Row], counts: Iterable[int]) -> list[Row]:
        there = {row.pairs for row in rows}
        missing = sorted(set(counts) - there)
        return sorted([*rows, *self._of(missing)], key=lambda row: row.pairs)

    def _best(self, rows: Sequence[Row], requested: int | Literal["auto"]) -> Row:
        """The row that will be chosen, unless relays do not help."""
        borne = within(list(rows), self.objective.max_cost_usd, self.figures) or list(rows)
        if requested == "auto":
            return min(borne, key=lambda row: preference(row, self.objective))
        return max((row for row in borne if row.pairs <= requested), key=lambda row: row.pairs, default=rows[0])

    def _of(self, counts: Sequence[int]) -> list[Row]:
        """For each number of pairs the row that is preferred, with a pre-test or without, in pairs or on routes."""
        tested_seconds = self.pre_test_seconds if self.pre_test else 0.0
        plain, tested = (self._of_pairs(counts, seconds) for seconds in (0.0, tested_seconds))
        rows = (
            tested
            if self.pre_test is True
            else better_of(plain, tested, self.objective, self.figures, self.most_tested)
        )
        # Of unequal sides none is tested: the better half of pairs is what was asked for.
        if not self.ways or (self.pre_test is True and self.ways.is_pair_alone):
            return rows
        # Every hop is measured, one after the other, before relays of routes join.
        probe = self.pre_test_seconds if self.pre_test is True else 0.0
        wait = pre_tests.seconds(probe, 1, HOPS_OF_ROUTE)
        through = route_rows.routed(self.ways, self.size_bytes, plain, self.figures.joining_later(wait), probe)
        through = [row.model_copy(update={"pre_test": True}) if wait and row.planned else row for row in through]
        return route_rows.better_of(rows, self._in_time(through), self.objective, self.figures)

    def _beyond(self, direct: Row, most: int, counts: Sequence[int]) -> list[Row]:
        if not self.ways or (self.pre_test is True and self.ways.is_pair_alone):
            return []
        return self._in_time(route_rows.beyond(self.ways, self.size_bytes, direct, most, counts, self.figures))

    def _of_pairs(self, counts: Iterable[int], test_seconds: float) -> list[Row]:
        rows = [build_row(self.size_bytes, pairs, self.figures, test_seconds, self.relay_counts) for pairs in counts]
        return self._in_time(rows)

    def _in_time(self, rows: list[Row]) -> list[Row]:
        """The rows with the time from start to report, and with what their hours are worth."""
        whole, value = self.whole, self.objective.value_of_time
        known = [row.in_time(whole, self.objective.confidence) for row in rows] if whole else rows
        return [row.weighed(value) for row in known]
