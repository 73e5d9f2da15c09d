"""Rows with routes through third regions: as many relays as p pairs have, placed where they carry most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from lambdas.core.estimate import row_cost
from lambdas.core.estimate.budget import dearest_gb_usd, within
from lambdas.core.estimate.data_time import limit_through, seconds_through
from lambdas.core.estimate.figures import Figure, Figures
from lambdas.core.estimate.link_figures import LinkFigure
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.route_use import RouteUse, in_words
from lambdas.core.estimate.rows import SHOWN_FROM, Row
from lambdas.core.request import Objective
from lambdas.core.routes.network_map import Link, NetworkMap
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from lambdas.core.routes.selection import select
from lambdas.core.tariff import cost, energy
from lambdas.core.zero_wait import Serving

RELAYS_OF_PAIR = 2


@dataclass(frozen=True)
class Ways:
    """What routes are planned from: links of one relay type, and what each region allows and asks for a relay.

    `links`: by region pair. `hours`: dollars for an hour of a relay by region. `most_in_region`: relays that quotas
    leave; a region that is absent has no limit. `first_stage`: index of a route's first stage by its regions.
    """

    source: str
    destination: str
    links: Mapping[tuple[str, str], LinkFigure]
    hours: Mapping[str, Figure]
    most_in_region: Mapping[str, int]
    first_stage: Mapping[tuple[str, ...], int]

    @property
    def network(self) -> NetworkMap:
        """The map to plan with: what each link is expected to carry at first."""
        return NetworkMap.of(
            Link(
                origin=link.from_region,
                destination=link.to_region,
                rate=link.counted,
                gain=link.gain.value if link.gain and link.gain.value > 0 else 1.0,
                usd_per_gb=link.egress.value,
            )
            for link in self.links.values()
        )

    def scheme(self, relays: int) -> Scheme:
        """The best routes with so many relays at most."""
        return select(self.network, self.source, self.destination, relays, most_in_region=self.most_in_region)

    def use(self, plan: RoutePlan) -> RouteUse:
        """A planned route as the estimate shows it: its rate is that of the link that limits, as often as it fits."""
        network = self.network
        rate = plan.rate(network)
        slowest = min(
            zip(plan.links, pairwise(plan.relays), strict=True),
            key=lambda one: network.link(*one[0]).carried(*one[1]),
        )[0]
        limit = self.links[slowest]
        factor = rate / limit.counted if limit.counted else 0.0
        note = f"{limit.from_region} to {limit.to_region}: {limit.rate.note}"
        return RouteUse(
            stage=self.first_stage[plan.regions],
            regions=list(plan.regions),
            relays=list(plan.relays),
            rate=limit.rate.scaled(factor, f"{note}, times {factor:.3g}" if factor != 1 else note),
            usd_per_gb=plan.usd_per_gb(network),
            hours_usd=[self.hours[region].value for region in plan.regions],
        )


def routed(ways: Ways, size_bytes: int, plain: Sequence[Row], figures: Figures) -> list[Row]:
    """For each row of pairs the row of the best routes with as many relays; the pairs' own where these are the best."""
    return [_routed(ways, size_bytes, row, figures) if row.pairs else row for row in plain]


def better_of(plain: list[Row], through: list[Row], objective: Objective, figures: Figures) -> list[Row]:
    """The rows of `plain`, each replaced by that of `through` where it is preferred and the budget bears it."""
    borne = within(through, objective.max_cost_usd, figures)
    return [
        other if other.routes and other in borne and preference(other, objective) < preference(row, objective) else row
        for row, other in zip(plain, through, strict=True)
    ]


def _routed(ways: Ways, size_bytes: int, row: Row, figures: Figures) -> Row:
    scheme = ways.scheme(RELAYS_OF_PAIR * row.pairs)
    uses = [ways.use(plan) for plan in scheme.routes]
    if all(len(use.regions) == RELAYS_OF_PAIR and len(set(use.relays)) == 1 for use in uses):
        return row
    joins = figures.spawn.value
    seconds = seconds_through(size_bytes, _servings(uses, joins), figures)
    bounds: list[float] = []
    for bound in ("high", "low"):
        worse: Figures = figures.at(bound)
        at = [use.model_copy(update={"rate": use.rate.at(bound)}) for use in uses]
        bounds.append(seconds_through(size_bytes, _servings(at, worse.spawn.value), worse))
    best, worst = bounds
    matters = best < seconds * (1 - SHOWN_FROM) or worst > seconds * (1 + SHOWN_FROM)
    shared = _shares(uses, seconds, joins, figures)
    lived = seconds + figures.tail_seconds
    relays = sum(use.count for use in shared)
    direct = row.seconds * row.speedup
    dollars, most = _dollars(size_bytes, seconds, lived, shared, figures)
    return Row(
        pairs=row.pairs,
        routes=shared,
        seconds=round(seconds, 3),
        seconds_low=round(best, 3) if matters else None,
        seconds_high=round(worst, 3) if matters else None,
        speedup=round(direct / seconds, 3) if seconds else 1.0,
        cost_usd=round(dollars, 6),
        cost_usd_at_most=round(most, 6) if most > dollars else None,
        energy_wh=round(energy.watt_hours(2 * seconds + relays * lived), 3),
        limit=limit_through(size_bytes, seconds, _servings(uses, joins), figures, in_words(shared)),
    )


def _servings(uses: Sequence[RouteUse], joins: float) -> list[Serving]:
    limits = [use.rate.limit for use in uses]
    return [Serving(limit.rate, joins, burst=limit.burst, credit=limit.credit) for limit in limits]


def _shares(uses: Sequence[RouteUse], seconds: float, joins: float, figures: Figures) -> list[RouteUse]:
    """The routes with the share of bytes that each carries: its rate times as long as it serves."""
    carried = [use.rate.now * max(seconds - joins, 0.0) for use in uses]
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
        for count, hour in zip(use.relays, use.hours_usd, strict=True):
            total += cost.relays(count, lived, hour)
    direct = 1.0 - sum(use.share for use in uses)
    per_gb = direct * figures.gb_usd(0) + sum(use.share * figures.sent_share * use.usd_per_gb for use in uses)
    dearest = dearest_gb_usd(uses, figures)
    return total + cost.egress(size_bytes, per_gb), total + cost.egress(size_bytes, dearest)
