"""The rows of one estimate: plain or with a pre-test, in pairs or on routes, for the numbers of pairs that matter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lambdas.core.estimate import route_rows, row_counts
from lambdas.core.estimate.budget import within
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.route_rows import Planner
from lambdas.core.estimate.row_choice import better_of
from lambdas.core.estimate.rows import Row, build_row
from lambdas.core.estimate.whole_time import WholeTime
from lambdas.core.request.request import Objective


@dataclass(frozen=True)
class RowTable:
    """What rows are made from. `pre_test_seconds`: for how long a pre-test measures each hop; `most_tested`: pairs that
    quotas leave for one; `whole`: what is around the data; `planner`: of routes and unequal sides.
    """

    size_bytes: int
    figures: Figures
    objective: Objective
    pre_test: bool | Literal["auto"]
    pre_test_seconds: float
    most_tested: int
    whole: WholeTime | None
    planner: Planner

    def rows(self, most: int, wanted: int, requested: int | Literal["auto"], also: Iterable[int] = ()) -> list[Row]:
        """Rows up to `most` pairs, in order, and beyond them up to as many relays as `wanted` pairs have.

        `requested`: the pairs that were asked for; `also`: numbers of pairs that must have a row.
        """
        counts = row_counts.coarse(most)
        every = self._of(counts)
        if requested == "auto":
            every = row_counts.until_full(every)
        also = [count for count in also if count <= most]
        if not self.planner.is_quick:
            if requested == "auto" and len(every) == len(counts):
                more = [count for count in row_counts.coarse(wanted) if count > most]
                every += self._beyond(most, more)
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
            return min(borne, key=lambda row: preference(row, self.objective, self.figures))
        return max((row for row in borne if row.pairs <= requested), key=lambda row: row.pairs, default=rows[0])

    def _of(self, counts: Sequence[int]) -> list[Row]:
        """For each number of pairs the row that is preferred, with a pre-test or without, in pairs or on routes."""
        rows = self._of_pairs(counts, self.pre_test_seconds if self.pre_test is True else 0.0)
        if self.pre_test == "auto":
            # A pre-test of pairs launches twice as many.
            can_be = [count for count in counts if 0 < count <= self.most_tested // 2]
            tested = {row.pairs: row for row in self._of_pairs(can_be, self.pre_test_seconds)}
            rows = better_of(rows, [tested.get(row.pairs) for row in rows], self.objective, self.figures)
        probe = self.pre_test_seconds if self.pre_test is True else 0.0
        through = route_rows.routed(self.planner, self.size_bytes, counts, self.figures, probe)
        found = {row.pairs: row for row in self._in_time([row for row in through if row])}
        return better_of(rows, [found.get(row.pairs) for row in rows], self.objective, self.figures)

    def _beyond(self, most: int, counts: Sequence[int]) -> list[Row]:
        return self._in_time(route_rows.beyond(self.planner, self.size_bytes, most, counts, self.figures))

    def _of_pairs(self, counts: Iterable[int], test_seconds: float) -> list[Row]:
        return self._in_time([build_row(self.size_bytes, pairs, self.figures, test_seconds) for pairs in counts])

    def _in_time(self, rows: list[Row]) -> list[Row]:
        """The rows with the time from start to report, and with what their hours are worth."""
        whole, value = self.whole, self.objective.value_of_time
        known = [row.in_time(whole, self.objective.confidence) for row in rows] if whole else rows
        return [row.weighed(value) for row in known]
