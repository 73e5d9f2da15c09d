"""Ways for data between two regions, straight or through others, and the relays on them that carry most together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from lambdas.core.estimate import pre_tests
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.routes.network_map import Link, NetworkMap
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from lambdas.core.routes.selection import select

Regions = tuple[str, ...]
PAIR_STAGE = 0
"""Index of the first stage of the pair, which machines of the user belong to."""


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

    @cached_property
    def network(self) -> NetworkMap:
        """The map to plan with: what each border is expected to let pass at first."""
        return NetworkMap.of(border.link(*pair) for pair, border in self.borders.items())

    @property
    def is_pair_alone(self) -> bool:
        """Return whether no third region is on any way."""
        return len(self.borders) == 1

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

    def probes(self, uses: Iterable[RouteUse], probe_seconds: float) -> pre_tests.Probes:
        """What it costs to measure every hop between relays on every path of `uses`."""
        found = pre_tests.Probes()
        for use in uses:
            hops = [
                pair for pair, relays in zip(pairwise(use.regions), pairwise(use.relays), strict=True) if all(relays)
            ]
            for border in map(self.borders.__getitem__, hops):
                slower = min(border.sent, border.received, key=lambda side: side.counted)
                found = found.beside(pre_tests.of_rates([slower.figure] * use.paths, probe_seconds, border.usd_per_gb))
        return found

    def use_as(self, regions: Regions, relays: tuple[int, ...]) -> RouteUse:
        """A route with just these relays."""
        return self._use(RoutePlan(regions, relays), 1.0)

    def at_once(self, use: RouteUse) -> float:
        """The share of a route's rate that machines of the user carry, which run already."""
        if use.stage != PAIR_STAGE or not use.lent:
            return 0.0
        link = self.network.link(self.source, self.destination)
        return min(1.0, link.carried(*use.lent) / use.rate.now) if all(use.lent) and use.rate.now else 0.0

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
        return RouteUse(
            stage=self.first_stage[plan.regions, plan.straight],
            regions=list(plan.regions),
            relays=list(plan.relays),
            lent=lent if any(lent) else None,
            rate=limit.figure.scaled(factor, f"{note}, times {factor:.3g}" if factor != 1 else note),
            usd_per_gb=plan.usd_per_gb(network),
            hours_usd=[self.hours[region].value for region in plan.regions],
        )

    def _lent(self, plan: RoutePlan) -> list[int]:
        """Machines of the user at each of its stages: they belong to the pair, and take its first slots."""
        if len(plan.regions) > len((self.source, self.destination)) or plan.straight:
            return [0] * len(plan.relays)
        lent = self.borders[plan.links[0]].lent
        return [min(count, len(side)) for count, side in zip(plan.relays, lent, strict=True)]
