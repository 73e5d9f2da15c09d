"""Rows with routes through third regions: as many relays as p pairs have, placed where they carry most."""

from collections.abc import Sequence
from math import ceil

from lambdas.core.estimate import pre_tests, row_cost
from lambdas.core.estimate.budget import dearest_gb_usd, within
from lambdas.core.estimate.data_time import limit_through, seconds_through
from lambdas.core.estimate.figures import LENT_SECONDS, Figures
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.route_use import RouteUse, in_words
from lambdas.core.estimate.rows import SHOWN_FROM, Row
from lambdas.core.estimate.ways import Ways
from lambdas.core.models.zero_wait import Serving
from lambdas.core.request.request import Objective
from lambdas.core.tariff import cost, energy

RELAYS_OF_PAIR = 2
# Relays for less of what the ends move make no difference that is worth them.
LEAST_USEFUL = 0.01


def routed(
    ways: Ways, size_bytes: int, plain: Sequence[Row], figures: Figures, pre_test_seconds: float = 0.0
) -> list[Row]:
    """For each row of pairs the row of the best routes with as many relays; the pairs' own where these are the best.

    `pre_test_seconds`: how long each hop of the routes is measured, 0 without a pre-test.
    """
    return [
        _routed(ways, size_bytes, row.pairs, row, figures, pre_test_seconds) or row if row.pairs else row
        for row in plain
    ]


def beyond(
    ways: Ways, size_bytes: int, direct: Row, most_pairs: int, counts: Sequence[int], figures: Figures
) -> list[Row]:
    """Rows of more relays than the quotas leave pairs: one side may have few, and the other one many.

    `direct`: the row without relays; `most_pairs`: what the quotas leave; `counts`: as many relays as so many pairs
    have, fewest first.
    """
    found: list[Row] = []
    for pairs in counts:
        row = _routed(ways, size_bytes, pairs, direct, figures)
        if row is None:
            break
        found.append(row)
    before = [most_pairs, *counts]
    while found and found[-1].relays <= RELAYS_OF_PAIR * before[len(found) - 1]:
        found.pop()  # as many relays as a row before it
    return found


def better_of(plain: list[Row], through: list[Row], objective: Objective, figures: Figures) -> list[Row]:
    """The rows of `plain`, each replaced by that of `through` where it is preferred and the budget bears it."""
    borne = within(through, objective.max_cost_usd, figures)
    return [
        other if other.planned and other in borne and preference(other, objective) < preference(row, objective) else row
        for row, other in zip(plain, through, strict=True)
    ]


def _routed(
    ways: Ways, size_bytes: int, pairs: int, like: Row, figures: Figures, pre_test_seconds: float = 0.0
) -> Row | None:
    """The row of as many relays on routes; None where pairs are the best. `like`: any row, for the direct path."""
    uses = ways.uses(RELAYS_OF_PAIR * pairs, _useful(figures))
    if all(len(use.regions) == RELAYS_OF_PAIR and len(set(use.relays)) == 1 for use in uses):
        return None
    joins = figures.spawn.value
    at_once = [ways.at_once(use) for use in uses]
    seconds = seconds_through(size_bytes, _servings(uses, at_once, joins), figures)
    bounds: list[float] = []
    for bound in ("high", "low"):
        worse: Figures = figures.at(bound)
        at = [use.model_copy(update={"rate": use.rate.at(bound)}) for use in uses]
        bounds.append(seconds_through(size_bytes, _servings(at, at_once, worse.spawn.value), worse))
    best, worst = bounds
    matters = best < seconds * (1 - SHOWN_FROM) or worst > seconds * (1 + SHOWN_FROM)
    shared = _shares(uses, at_once, seconds, joins, figures)
    lived = seconds + figures.tail_seconds
    relays = sum(use.count for use in shared)
    direct = like.seconds * like.speedup
    dollars, most = _dollars(size_bytes, seconds, lived, shared, figures)
    probes = ways.probes(shared, pre_test_seconds) if pre_test_seconds else pre_tests.Probes()
    dollars, most = dollars + probes.usd, most + probes.most_usd
    return Row(
        pairs=pairs,
        planned=shared,
        seconds=round(seconds, 3),
        seconds_low=round(best, 3) if matters else None,
        seconds_high=round(worst, 3) if matters else None,
        speedup=round(direct / seconds, 3) if seconds else 1.0,
        cost_usd=round(dollars, 6),
        cost_usd_at_most=round(most, 6) if most > dollars else None,
        probes_usd_at_most=round(probes.most_usd, 6) if pre_test_seconds else None,
        energy_wh=round(energy.watt_hours(2 * seconds + relays * lived), 3),
        limit=limit_through(size_bytes, seconds, _servings(uses, at_once, joins), figures, in_words(shared)),
    )


def _useful(figures: Figures) -> float:
    """MB/s beside the direct path that the ends can use at most; not 0, for what the direct path gives away."""
    ends = min(figure.most for figure in figures.of_ends.values())
    return max(ends - figures.direct.now, LEAST_USEFUL * ends)


def _servings(uses: Sequence[RouteUse], at_once: Sequence[float], joins: float) -> list[Serving]:
    """When each route carries what. `at_once`: the share of machines that run already."""
    found = []
    for use, early in zip(uses, at_once, strict=True):
        limit = use.rate.limit
        for share, since in ((early, min(joins, LENT_SECONDS)), (1.0 - early, joins)):
            if share > 0:
                found.append(Serving(limit.rate * share, since, burst=limit.burst * share, credit=limit.credit * share))
    return sorted(found, key=lambda one: one.joins)


def _shares(
    uses: Sequence[RouteUse], at_once: Sequence[float], seconds: float, joins: float, figures: Figures
) -> list[RouteUse]:
    """The routes with the share of bytes that each carries: its rate times as long as it serves."""
    whiles = [max(seconds - since, 0.0) for since in (min(joins, LENT_SECONDS), joins)]
    carried = [
        use.rate.now * (early * whiles[0] + (1.0 - early) * whiles[1]) for use, early in zip(uses, at_once, strict=True)
    ]
    whole = figures.direct.now * seconds + sum(carried)
    return [
        use.model_copy(update={"share": round(mb / whole, 4) if whole else 0.0})
        for use, mb in zip(uses, carried, strict=True)
    ]


def _dollars(
    size_bytes: int, seconds: float, lived: float, uses: Sequence[RouteUse], figures: Figures
) -> tuple[float, float]:
    """Relays at each region's price, egress at every border that bytes cross, requests of the control plane.

    As expected, and as if all bytes took the dearest way.
    """
    pairs = ceil(sum(use.count for use in uses) / RELAYS_OF_PAIR)
    total = row_cost.control_plane_dollars(size_bytes, pairs, seconds, figures)
    for use in uses:
        for count, hour in zip(use.paid, use.hours_usd, strict=True):
            total += cost.relays(count, lived, hour)
    direct = 1.0 - sum(use.share for use in uses)
    per_gb = direct * figures.gb_usd(0) + sum(use.share * figures.sent_share * use.usd_per_gb for use in uses)
    dearest = dearest_gb_usd(uses, figures)
    return total + cost.egress(size_bytes, per_gb), total + cost.egress(size_bytes, dearest)
