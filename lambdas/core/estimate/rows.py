"""The rows of an estimate: what each number of pairs would take and cost, and what limits it."""

from collections.abc import Sequence
from functools import reduce
from typing import Self

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.estimate import pre_tests, row_cost
from lambdas.core.estimate.data_time import limit_through, seconds_through
from lambdas.core.estimate.figures import Bound, Figures, NonNegative
from lambdas.core.estimate.pair_use import pair_uses
from lambdas.core.estimate.route_use import RouteUse, in_words
from lambdas.core.estimate.whole_time import WholeTime, at_most
from lambdas.core.models.zero_wait import Serving
from lambdas.core.pool.energy import node_seconds, transfer_wh
from lambdas.core.tariff import cost
from lambdas.core.tariff.cost import worth
from lambdas.core.words import duration

# Nearer to the expected time a bound is not shown: an estimate is not better than that (bench/estimate).
SHOWN_FROM = 0.1


class Row(Document):
    """One choice of p: seconds of data time, dollars; `pre_test`: of 2p pairs the better half is kept.

    `seconds_low` and `seconds_high` are the time with all figures at their better and at their worse bounds; absent
    where neither is far from `seconds`. `whole_seconds`: from the transfer's start to its report, and at most
    `whole_seconds_high` with the confidence that the objective asks for; absent where only the data time is known.
    """

    pairs: Count
    pre_test: bool = False
    seconds: NonNegative
    seconds_low: NonNegative | None = None
    seconds_high: NonNegative | None = None
    whole_seconds: NonNegative | None = None
    whole_seconds_high: NonNegative | None = None
    speedup: NonNegative
    cost_usd: NonNegative
    cost_and_time_usd: NonNegative | None = None
    """Dollars, with what its hours are worth; absent where nobody weighs them."""
    energy_wh: NonNegative | None = None
    """Watt-hours of all machines, as `tariff.energy` assumes them."""
    pool_usd: NonNegative | None = None
    """Dollars of these for what goes through the pool; absent where nothing does."""
    limit: str
    planned: list[RouteUse] = Field(default_factory=list, alias="routes", exclude_if=lambda uses: not uses)
    """The routes that its number does not tell of; as many relays as so many pairs have, at most. See `uses`."""
    cost_usd_at_most: NonNegative | None = None
    """Dollars if all bytes took the dearest of its routes, and probes went as fast as is possible; absent where that
    is what is expected."""
    probes_usd_at_most: NonNegative | None = None
    """Dollars of these for the probes of its pre-test; absent without one."""

    @property
    def most_usd(self) -> float:
        """What a budget has to bear."""
        return self.cost_usd if self.cost_usd_at_most is None else self.cost_usd_at_most

    def uses(self, figures: Figures) -> list[RouteUse]:
        """Its routes, of whatever shape: one with two stages beside the ends where nothing else was planned."""
        return self.planned or pair_uses(self.pairs, figures)

    @property
    def limit_and_ways(self) -> str:
        """What limits it, and where its relays are if not in pairs."""
        words = in_words(self.planned)
        return self.limit if not words or words in self.limit else f"{self.limit} ({words})"

    @property
    def expected_seconds(self) -> float:
        """Seconds from start to report, or of the data where only that is known."""
        return self.seconds if self.whole_seconds is None else self.whole_seconds

    @property
    def sure_seconds(self) -> float:
        """What a deadline is held against."""
        return self.seconds if self.whole_seconds_high is None else self.whole_seconds_high

    def in_time(self, whole: WholeTime, confidence: float) -> Self:
        """The row with the time from start to report."""
        time = whole.of(self.seconds, self.bounds[1])
        high = round(at_most(time, confidence), 3)
        return self.model_copy(update={"whole_seconds": round(time.mean, 3), "whole_seconds_high": high})

    def weighed(self, usd_per_hour: float) -> Self:
        """The row with what an hour of its data time is worth."""
        return self.model_copy(
            update={"cost_and_time_usd": round(self.cost_usd + worth(self.seconds, usd_per_hour), 6)}
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """Seconds at best and at worst; twice what is expected where nothing is far from it."""
        return (
            self.seconds if self.seconds_low is None else self.seconds_low,
            self.seconds if self.seconds_high is None else self.seconds_high,
        )

    @property
    def range_in_words(self) -> str:
        """`470 s to 11 min 51 s`; empty where the bounds are near what is expected."""
        if self.seconds_low is None and self.seconds_high is None:
            return ""
        return " to ".join(map(duration, self.bounds))


def build_rows(size_bytes: int, most_pairs: int, figures: Figures, pre_test_seconds: float = 0.0) -> list[Row]:
    """The rows of p = 0..`most_pairs`, as `build_row` has them."""
    return [build_row(size_bytes, pairs, figures, pre_test_seconds) for pairs in range(most_pairs + 1)]


def build_row(size_bytes: int, pairs: int, figures: Figures, pre_test_seconds: float = 0.0) -> Row:
    """One p; with `pre_test_seconds` > 0 it pays for a pre-test that measures each hop so long.

    A row pays for all relays that are launched. It carries what its pairs do, whatever the larger side is.
    """
    return row_with(size_bytes, pairs, pair_uses(pairs, figures), figures, pre_test_seconds)


def row_with(
    size_bytes: int, pairs: int, uses: Sequence[RouteUse], figures: Figures, pre_test_seconds: float = 0.0
) -> Row:
    """The row of `pairs` with just these routes, which have as many relays as so many pairs at most."""
    waits = (pre_tests.seconds(pre_test_seconds, use.paths, use.tested_hops) for use in uses)
    wait = max(waits, default=0.0)
    direct, serving = seconds_through(size_bytes, [], figures), _servings(uses, figures, wait)
    seconds = seconds_through(size_bytes, serving, figures)
    best, worst = (_at(bound, size_bytes, uses, figures, wait) for bound in _BETTER_FIRST)
    matters = best < seconds * (1 - SHOWN_FROM) or worst > seconds * (1 + SHOWN_FROM)
    shared = _shares(uses, seconds, figures, wait)
    expected, most = row_cost.dollars(size_bytes, seconds, shared, figures, wait)
    probes = reduce(pre_tests.Probes.beside, (use.probes(pre_test_seconds) for use in uses), pre_tests.Probes())
    cost, most = round(expected + probes.usd, 6), round(most + probes.most_usd, 6)
    return Row(
        pairs=pairs,
        planned=[use for use in shared if not use.by_pairs],
        pre_test=wait > 0,
        seconds=round(seconds, 3),
        seconds_low=round(best, 3) if matters else None,
        seconds_high=round(worst, 3) if matters else None,
        speedup=round(direct / seconds, 3) if seconds else 1.0,
        cost_usd=cost,
        cost_usd_at_most=most if most > cost else None,
        probes_usd_at_most=round(probes.most_usd, 6) if wait else None,
        energy_wh=round(_energy(size_bytes, shared, seconds, figures, wait), 3),
        pool_usd=round(_pool_usd(size_bytes, shared, figures), 6) or None,
        limit=limit_through(size_bytes, seconds, serving, figures, in_words(uses)),
    )


_BETTER_FIRST: tuple[Bound, Bound] = ("high", "low")


def _at(bound: Bound, size_bytes: int, uses: Sequence[RouteUse], figures: Figures, wait: float) -> float:
    """Seconds with all figures at a bound."""
    bounded = figures.at(bound)
    serving = _servings([use.at(bound, bounded) for use in uses], bounded, wait)
    return seconds_through(size_bytes, serving, bounded)


def _servings(uses: Sequence[RouteUse], figures: Figures, wait: float) -> list[Serving]:
    """What all routes carry beside the direct path, in the order in which they begin."""
    return sorted((one for use in uses for one in use.servings(figures, wait)), key=lambda one: one.joins)


def _shares(uses: Sequence[RouteUse], seconds: float, figures: Figures, wait: float) -> list[RouteUse]:
    """The routes with the share of bytes that each carries: its rate times as long as it serves."""
    carried = [
        sum(one.limit.allows(one.limit.credit) * max(seconds - one.joins, 0.0) for one in use.servings(figures, wait))
        for use in uses
    ]
    whole = figures.direct.now * seconds + sum(carried)
    return [
        use.model_copy(update={"share": round(mb / whole, 4) if whole else 0.0})
        for use, mb in zip(uses, carried, strict=True)
    ]


def _energy(size_bytes: int, uses: Sequence[RouteUse], seconds: float, figures: Figures, wait: float) -> float:
    """Both ends and all relays, those of the user too; more of them until a pre-test is over that gives some back.

    Of a bucket the end that has machines: what S3 takes nobody knows. Of the pool's nodes, which others share, the part
    that the bytes are of what these could carry.
    """
    ends = sum((figures.machines or [1, 1])[: figures.route.sides])
    relays = sum(use.count - sum(use.pooled or []) for use in uses)
    more = sum(use.tested.count - use.count for use in uses) if wait else 0
    lived = seconds + figures.tail_seconds
    return transfer_wh(
        ends,
        seconds,
        [relays * lived, more * min(figures.spawn.value + wait, lived)],
        _pool_node_seconds(size_bytes, uses, figures),
    )


def _pool_node_seconds(size_bytes: int, uses: Sequence[RouteUse], figures: Figures) -> float:
    """Of whole nodes: each byte takes its part of one at every side where it goes through the pool."""
    if figures.pool_node is None:
        return 0.0
    shares = (use.share * sum(1 for leases in use.pooled or [] if leases) * use.pooled_share for use in uses)
    return node_seconds(size_bytes / 1e6 * figures.sent_share * sum(shares), figures.pool_node.value)


def _pool_usd(size_bytes: int, uses: Sequence[RouteUse], figures: Figures) -> float:
    return cost.egress(
        size_bytes, sum(use.share * use.pooled_share for use in uses) * figures.sent_share * figures.pool_gb_usd
    )
