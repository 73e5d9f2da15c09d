"""Routes with counted relays, and schemes of several such routes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from lambdas.core.documents import MAX_STAGES
from lambdas.core.routes.network_map import NetworkMap


@dataclass(frozen=True)
class RoutePlan:
    """The regions that data passes in order, and the relays in each of them.

    The last stage may have none: the relays before it send straight to the receiver.
    """

    regions: tuple[str, ...]
    relays: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.regions) <= MAX_STAGES:
            raise ValueError(f"regions {self.regions}: a route has 2 to {MAX_STAGES} stages")
        if any(one == other for one, other in pairwise(self.regions)):
            raise ValueError(f"regions {self.regions}: a region follows itself")
        if len(self.relays) != len(self.regions) or min(self.relays[:-1]) < 1 or self.relays[-1] < 0:
            raise ValueError(f"relays {self.relays}: one or more for each of {self.regions}; the last may have none")

    @property
    def count(self) -> int:
        """Relays of all stages."""
        return sum(self.relays)

    @property
    def straight(self) -> bool:
        """Return whether its last relays send straight to the receiver."""
        return self.relays[-1] == 0

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The borders that data crosses, in order."""
        return tuple(pairwise(self.regions))

    def rate(self, network: NetworkMap) -> float:
        """MB/s: what the slowest link carries, or the way between an end and the relays beside it."""
        crossed = zip(self.links, pairwise(self.relays), strict=True)
        slowest = min(network.link(*pair).carried(*relays) for pair, relays in crossed)
        ends = (network.at_end(self.regions[stage], self.relays[stage]) for stage in (0, -1))
        return min(slowest, *ends)

    def usd_per_gb(self, network: NetworkMap) -> float:
        """Dollars of a GB: egress is paid at every border."""
        return sum(network.link(*pair).usd_per_gb for pair in self.links)


@dataclass(frozen=True)
class Scheme:
    """Routes that carry data at the same time. No link is used by two of them; a region may be."""

    routes: tuple[RoutePlan, ...] = ()

    @property
    def relays(self) -> int:
        """Relays of all routes."""
        return sum(route.count for route in self.routes)

    def relays_by_region(self) -> Mapping[str, int]:
        """Relays of all routes in each region that has any."""
        counts: Counter[str] = Counter()
        for route in self.routes:
            for region, relays in zip(route.regions, route.relays, strict=True):
                counts[region] += relays
        return +counts

    def rate(self, network: NetworkMap, straight: float = inf) -> float:
        """MB/s of all routes. `straight`: the most that the receiver takes from relays of other regions."""
        beside = sum(route.rate(network) for route in self.routes if not route.straight)
        return beside + min(sum(route.rate(network) for route in self.routes if route.straight), straight)

    def shares(self, network: NetworkMap) -> tuple[float, ...]:
        """The share of the bytes that each route carries: lanes pull, so it is that of its rate."""
        rates = [route.rate(network) for route in self.routes]
        return tuple(rate / sum(rates) for rate in rates) if any(rates) else tuple(0.0 for _ in rates)

    def usd_per_gb(self, network: NetworkMap) -> float:
        """Dollars of a GB, by the routes' shares of the bytes."""
        shared = zip(self.routes, self.shares(network), strict=True)
        return sum(share * route.usd_per_gb(network) for route, share in shared)
