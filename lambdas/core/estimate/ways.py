"""Ways for data between two regions, straight or through others, and the relays on them that carry most together."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import NamedTuple

from pydantic import Field

from lambdas.core.estimate import pre_tests
from lambdas.core.estimate.figures import LENT_SECONDS, POOLED_SECONDS, Figure, Figures
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.models.zero_wait import Serving
from lambdas.core.routes.network_map import Link, NetworkMap
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from lambdas.core.routes.selection import select

Regions = tuple[str, ...]


class SideRate(NamedTuple):
    """MB/s of one relay at a side of a border; `counted`: what plans count on at first."""

    figure: Figure
    counted: float


@dataclass(frozen=True)
class Border:
    """What one relay sends at one side of a border and takes at the other, and what a GB costs there.

    `lent`: the same of the first relays at either side, where these are machines of the user. `gain`: the share of its
    rate that each relay after the first adds.
    """

    sent: SideRate
    received: SideRate
    usd_per_gb: float
    gain: float = 1.0
    lent: tuple[tuple[Figure, ...], tuple[Figure, ...]] = ((), ())

    @property
    def slower(self) -> Figure:
        """What the side that limits lets pass of one relay."""
        return min(self.sent, self.received, key=lambda side: side.counted).figure

    def link(self, origin: str, destination: str) -> Link:
        """The border as the planner knows it."""
        sent, received = (tuple(one.now for one in side) for side in self.lent)
        return Link(
            origin=origin,
            destination=destination,
            rate=self.sent.counted,
            receive=self.received.counted,
            gain=self.gain,
            usd_per_gb=self.usd_per_gb,
            lent_sent=sent,
            lent_received=received,
        )


class BorderUse(RouteUse):
    """A route as it was planned: what it carries is known by the borders that it crosses.

    `at_once`: the share of its rate that machines carry which run already; `pooled_at_once`: and leases in the pool.
    `measured`: of each hop between its relays what one path carries, and dollars per GB.
    """

    at_once: float = Field(exclude=True)
    pooled_at_once: float = Field(default=0.0, exclude=True)
    measured: list[tuple[Figure, float]] = Field(exclude=True)

    def servings(self, figures: Figures, wait_seconds: float) -> list[Serving]:
        """Its machines that run already, then the others."""
        limit, joins = self.rate.limit, figures.spawn.value + wait_seconds
        shares = (
            (self.at_once, min(joins, LENT_SECONDS)),
            (self.pooled_at_once, min(joins, POOLED_SECONDS)),
            (1.0 - self.at_once - self.pooled_at_once, joins),
        )
        return [
            Serving(limit.rate * share, since, burst=limit.burst * share, credit=limit.credit * share)
            for share, since in shares
            if share > 0
        ]

    def probes(self, probe_seconds: float) -> pre_tests.Probes:
        """Every hop between relays, on every path."""
        each = (pre_tests.of_rates([rate] * self.paths, probe_seconds, usd) for rate, usd in self.measured)
        return reduce(pre_tests.Probes.beside, each, pre_tests.Probes())


@dataclass(frozen=True)
class Ways:
    """What routes are planned from: borders between regions, and what each region allows and asks for a relay.

    `hours`: dollars for an hour of a relay by region. `most_in_region`: relays that quotas leave, those of the user
    included; a region that is absent has no limit. `first_stage`: index of a route's first stage, by its regions and
    whether its last relays send straight to the receiver. `straight`: MB/s that the receiver takes from such relays
    beside the direct path.
    """

    source: str
    destination: str
    borders: Mapping[tuple[str, str], Border]
    hours: Mapping[str, Figure]
    most_in_region: Mapping[str, int]
    first_stage: Mapping[tuple[Regions, bool], int]
    straight: float = 0.0
    pooled: int = 0
    """Leases that the pool can give at each side of the pair."""

    @property
    def is_quick(self) -> bool:
        """A search through routes takes tens of milliseconds."""
        return False

    @cached_property
    def network(self) -> NetworkMap:
        """The map to plan with: what each border is expected to let pass at first."""
        return NetworkMap.of(border.link(*pair) for pair, border in self.borders.items())

    def uses(self, relays: int, most_rate: float) -> list[RouteUse]:
        """The best routes with so many relays at most, as the estimate has them; `most_rate`: MB/s that are of use."""
        scheme = select(
            self.network,
            self.source,
            self.destination,
            relays,
            most_in_region=self.most_in_region,
            most_rate=most_rate,
            straight=self.straight,
        )
        held = self._held(scheme)
        return [self._use(plan, held) for plan in scheme.routes]

    def use_as(self, regions: Regions, relays: tuple[int, ...]) -> RouteUse:
        """A route with just these relays."""
        return self._use(RoutePlan(regions, relays), 1.0)

    def _at_once(self, plan: RoutePlan, lent: list[int], rate: float) -> float:
        """The share of a route's rate that machines of the user carry, which run already."""
        carried = self.network.link(*plan.links[0]).carried(*lent) if all(lent) else 0.0
        return min(1.0, carried / rate) if rate else 0.0

    def _held(self, scheme: Scheme) -> float:
        """The share that relays of other regions may send straight to the receiver of what they could."""
        sent = sum(plan.rate(self.network) for plan in scheme.routes if plan.straight)
        return min(1.0, self.straight / sent) if sent else 1.0

    def _use(self, plan: RoutePlan, held: float) -> RouteUse:
        """Its rate is that of the side that limits, as often as it fits."""
        network = self.network
        rate = plan.rate(network) * (held if plan.straight else 1.0)
        limits: list[tuple[float, SideRate, str]] = []
        for pair, (before, after) in zip(plan.links, pairwise(plan.relays), strict=True):
            link, border, where = network.link(*pair), self.borders[pair], " to ".join(pair)
            limits += [
                (link.sent(before), border.sent, where),
                (link.received(after), border.received, where),
            ]
        _, limit, where = min(limits, key=lambda one: one[0])
        factor = rate / limit.counted if limit.counted else 0.0
        note = f"{where}: {limit.figure.note}"
        lent = self._lent(plan)
        pooled = self._pooled(plan, lent)
        pooled_share = min(part / count if count else 0.0 for part, count in zip(pooled, plan.relays, strict=True))
        figure = limit.figure.scaled(factor, f"{note}, times {factor:.3g}" if factor != 1 else note)
        at_once = self._at_once(plan, lent, figure.now)
        crossed = [
            self.borders[pair] for pair, relays in zip(plan.links, pairwise(plan.relays), strict=True) if all(relays)
        ]
        return BorderUse(
            stage=self.first_stage[plan.regions, plan.straight],
            regions=list(plan.regions),
            relays=list(plan.relays),
            lent=lent if any(lent) else None,
            pooled=pooled if any(pooled) else None,
            rate=figure,
            usd_per_gb=plan.usd_per_gb(network),
            hours_usd=[self.hours[region].value for region in plan.regions],
            at_once=at_once,
            pooled_at_once=min(pooled_share, 1.0 - at_once),
            measured=[(border.slower, border.usd_per_gb) for border in crossed],
        )

    def _pooled(self, plan: RoutePlan, lent: list[int]) -> list[int]:
        """Leases at each of its stages, after machines of the user; third regions are not counted on."""
        if len(plan.regions) > len((self.source, self.destination)) or plan.straight:
            return [0] * len(plan.relays)
        return [min(count - there, self.pooled) for count, there in zip(plan.relays, lent, strict=True)]

    def _lent(self, plan: RoutePlan) -> list[int]:
        """Machines of the user at each of its stages: they belong to the pair, and take its first slots."""
        if len(plan.regions) > len((self.source, self.destination)) or plan.straight:
            return [0] * len(plan.relays)
        lent = self.borders[plan.links[0]].lent
        return [min(count, len(side)) for count, side in zip(plan.relays, lent, strict=True)]
