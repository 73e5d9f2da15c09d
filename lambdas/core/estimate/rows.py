"""The rows of an estimate: what each number of pairs would take and cost, and what limits it."""

from typing import Self

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.estimate import pre_tests, row_cost
from lambdas.core.estimate.data_time import bounds, limit_in_words, seconds_for
from lambdas.core.estimate.figures import Figures, NonNegative
from lambdas.core.estimate.pair_use import pair_uses
from lambdas.core.estimate.route_use import RouteUse, in_words
from lambdas.core.estimate.whole_time import WholeTime, at_most
from lambdas.core.fleet.relay_counts import PAIRS, RelayCounts
from lambdas.core.tariff import energy
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
    limit: str
    planned: list[RouteUse] | None = Field(default=None, alias="routes")
    """Where its relays are, if not in pairs beside the two ends; as many as so many pairs have, at most. See `uses`."""
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
    def relays(self) -> int:
        """Relays of all stages, where nothing else was asked for."""
        return sum(use.count for use in self.planned) if self.planned else 2 * self.pairs

    @property
    def limit_and_ways(self) -> str:
        """What limits it, and where its relays are if not in pairs."""
        words = in_words(self.planned or [])
        return self.limit if not words or words in self.limit else f"{self.limit} ({words})"

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


def better_half(pairs: int) -> float:
    """Mean of the better half of 2p pairs above the mean of all, in standard deviations of a pair.

    It rises to sqrt(2 / pi), 0.798; of so few as 2 the better one is 0.564 above. The fit is within 0.002 for all p.
    """
    return 0.798 * (1 - 0.4 / (pairs + 0.37))


def build_rows(
    size_bytes: int, most_pairs: int, figures: Figures, pre_test_seconds: float = 0.0, relay_counts: RelayCounts = PAIRS
) -> list[Row]:
    """The rows of p = 0..`most_pairs`, as `build_row` has them."""
    every = range(most_pairs + 1)
    return [build_row(size_bytes, pairs, figures, pre_test_seconds, relay_counts) for pairs in every]


def build_row(
    size_bytes: int, pairs: int, figures: Figures, pre_test_seconds: float = 0.0, relay_counts: RelayCounts = PAIRS
) -> Row:
    """One p; with `pre_test_seconds` > 0 it pays for a pre-test, and its pairs are the better half.

    `pre_test_seconds`: how long each hop is measured.

    A row pays for the relays that `relay_counts` has launched. It carries what its pairs do, whatever the larger side
    is.
    """
    direct = seconds_for(size_bytes, 0, figures)
    wait = pre_tests.seconds(pre_test_seconds, pairs)
    gain = better_half(pairs) * figures.pair_spread.value if wait else 0.0
    seconds = seconds_for(size_bytes, pairs, figures, wait, gain)
    best, worst = bounds(size_bytes, pairs, figures, wait, gain)
    matters = best < seconds * (1 - SHOWN_FROM) or worst > seconds * (1 + SHOWN_FROM)
    probes = pre_tests.of_pairs(pairs, figures, pre_test_seconds)
    dollars = row_cost.dollars(size_bytes, pairs, seconds, figures, wait, relay_counts)
    return Row(
        pairs=pairs,
        pre_test=wait > 0,
        seconds=round(seconds, 3),
        seconds_low=round(best, 3) if matters else None,
        seconds_high=round(worst, 3) if matters else None,
        speedup=round(direct / seconds, 3) if seconds else 1.0,
        cost_usd=round(dollars + probes.usd, 6),
        cost_usd_at_most=round(dollars + probes.most_usd, 6) if probes.most_usd > probes.usd else None,
        probes_usd_at_most=round(probes.most_usd, 6) if wait else None,
        energy_wh=round(_energy(pairs, seconds, figures, wait, relay_counts), 3),
        limit=limit_in_words(size_bytes, seconds, pairs, figures, wait, gain),
    )


def _energy(pairs: int, seconds: float, figures: Figures, wait: float, relay_counts: RelayCounts) -> float:
    """Both ends and all relays, those of the user too; a pre-test has twice as many until it is over."""
    relays = sum(relay_counts.of_stages(pairs))
    more = sum(relay_counts.of_stages(2 * pairs)) - relays if wait else 0
    lived = seconds + figures.tail_seconds
    return energy.watt_hours(2 * seconds + relays * lived + more * min(figures.spawn.value + wait, lived))
