"""GEO-DMS's Figure 9 in simulation: six regions whose links change every minute, and four ways to use 25 relays.

A link's rate is drawn once between 5 and 25 MB/s of one relay pair, with the direct link narrower than the widest path,
and again every minute within 40 % of that. Each strategy moves as much as it can in ten minutes.

Those that are refreshed plan at the start of each minute, in one of two ways. "At once": they know the minute's rates
and use the new scheme from its start. "Late": they know the rates of the minutes before only, and plan with their mean.
A scheme takes over if it promises 5 % more, 30 s after the minute began, when its relays have started.

What a further relay adds says what is capped. `SHARED`: the link, whatever number of relays use it. 1: each relay.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from random import Random
from statistics import mean

from bench.routes.algorithm_one import algorithm_one
from lambdas.core.routes.growth import growth
from lambdas.core.routes.network_map import Link, NetworkMap
from lambdas.core.routes.route_plan import Scheme
from lambdas.core.routes.selection import select
from lambdas.core.routes.widest_path import widest

REGIONS = ("a", "b", "c", "d", "e", "f")
SOURCE, DESTINATION = REGIONS[:2]
RELAYS = 25
MINUTES = 10
SPREAD = 0.4
# The least that a map can say: a link that is capped as a whole.
SHARED = 0.001
GAINS = (SHARED, 0.6, 1.0)
SPAWN_SECONDS = 30.0
LEAST_CHANGE = 0.05

Strategy = Callable[[NetworkMap, int], Scheme]


def on_one_route(network: NetworkMap, regions: tuple[str, ...], relays: int) -> Scheme:
    """All relays on one route, as many at each stage as carry most."""
    return Scheme(tuple(size.plan for size in growth(network, regions, relays))[-1:])


def direct(network: NetworkMap, relays: int) -> Scheme:
    """Pairs on the direct link."""
    return on_one_route(network, (SOURCE, DESTINATION), relays)


def widest_path(network: NetworkMap, relays: int) -> Scheme:
    """All relays on the widest path, or on the direct link if they are too few for it."""
    path = widest(network, SOURCE, DESTINATION)
    return on_one_route(network, path, relays) if path and len(path) <= relays else direct(network, relays)


def planned(network: NetworkMap, relays: int) -> Scheme:
    """Routes and relays as the planner chooses them."""
    return select(network, SOURCE, DESTINATION, relays)


def most(network: NetworkMap, relays: int) -> Scheme:
    """The most that any scheme carries, of any number of routes."""
    return select(network, SOURCE, DESTINATION, relays, least_gain=0.0)


def as_printed(network: NetworkMap, relays: int) -> Scheme:
    """Algorithm 1 without what the planner does differently."""
    return algorithm_one(network, SOURCE, DESTINATION, relays)


# Whether it is refreshed, and how it plans.
STRATEGIES: Mapping[str, tuple[bool, Strategy]] = {
    "direct link": (False, direct),
    "widest path, once": (False, widest_path),
    "widest path, refreshed": (True, widest_path),
    "Algorithm 1 as printed, refreshed": (True, as_printed),
    "planner, refreshed": (True, planned),
    "any number of routes": (True, most),
}
OURS = "planner, refreshed"


@dataclass(frozen=True)
class Weather:
    """The maps of ten minutes."""

    minutes: tuple[NetworkMap, ...]

    @classmethod
    def drawn(cls, seed: int, gain: float) -> "Weather":
        """The weather of a seed."""
        random = Random(seed)
        while True:
            links = [Link(*pair, rate=random.uniform(5, 25), gain=gain) for pair in permutations(REGIONS, 2)]
            base = NetworkMap.of(links)
            if widest(base, SOURCE, DESTINATION) != (SOURCE, DESTINATION):
                break
        return cls(
            tuple(
                NetworkMap.of(replace(link, rate=link.rate * random.uniform(1 - SPREAD, 1 + SPREAD)) for link in links)
                for _ in range(MINUTES)
            )
        )

    def known(self, minute: int) -> NetworkMap:
        """What the minutes before say: the mean of each link; the first minute is measured before it begins."""
        before = self.minutes[: max(minute, 1)]
        return NetworkMap.of(
            replace(link, rate=mean(network[pair].rate for network in before)) for pair, link in before[0].items()
        )


def moved(weather: Weather, refreshed: bool, strategy: Strategy, relays: int, late: bool) -> list[float]:
    """MB that have arrived at the end of each minute."""
    scheme = strategy(weather.minutes[0], relays)
    total, found = 0.0, []
    for minute, network in enumerate(weather.minutes):
        before, waits = scheme, 0.0
        if refreshed and minute:
            known = weather.known(minute) if late else network
            new = strategy(known, relays)
            if not late or new.rate(known) >= (1 + LEAST_CHANGE) * scheme.rate(known):
                scheme, waits = new, SPAWN_SECONDS if late else 0.0
        total += waits * before.rate(network) + (60 - waits) * scheme.rate(network)
        found.append(total)
    return found


def runs(seeds: Sequence[int], gain: float, relays: int, late: bool) -> dict[str, list[list[float]]]:
    """For each strategy what it moved under each seed."""
    weathers = [Weather.drawn(seed, gain) for seed in seeds]
    return {
        name: [moved(weather, refreshed, strategy, relays, late) for weather in weathers]
        for name, (refreshed, strategy) in STRATEGIES.items()
    }
