"""The routes that a scheme is chosen from, each in all its useful sizes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, permutations

from lambdas.core.routes.growth import Step, growth
from lambdas.core.routes.network_map import NetworkMap

# Ten regions have 65 routes. Of more regions those are considered that the widest routes lead through.
MOST_REGIONS = 10


@dataclass(frozen=True)
class Candidate:
    """One route in all its sizes, smallest first, all of them within the limits of the request."""

    regions: tuple[str, ...]
    steps: tuple[Step, ...]
    usd_per_gb: float

    @property
    def first_link(self) -> tuple[str, str]:
        """The border behind the source's region."""
        return self.regions[0], self.regions[1]

    @property
    def straight(self) -> bool:
        """Return whether its last relays send straight to the receiver."""
        return self.steps[0].plan.straight

    @property
    def end_links(self) -> tuple[tuple[str, str], ...]:
        """Its first and its last link, which no other route of a scheme may use; one for two stages."""
        last = (self.regions[-2], self.regions[-1])
        return (self.first_link,) if last == self.first_link else (self.first_link, last)


@dataclass(frozen=True)
class Limits:
    """What a scheme must keep to.

    `most_in_region`: relays that a region allows over all routes. `most_usd_per_gb`: of every route. `most_rate`: MB/s
    that the ends can use; relays beyond it are of no use. `straight`: MB/s that the receiver takes from relays of other
    regions; 0 if every route ends in relays beside it. `most_stages`: of a route.
    """

    most_relays: int
    most_in_region: Mapping[str, int]
    most_usd_per_gb: float
    most_rate: float
    straight: float
    most_stages: int


def candidates(network: NetworkMap, source: str, destination: str, limits: Limits) -> list[Candidate]:
    """Return every route that can be used, shorter ones first, then cheaper ones, then by name."""
    usable = {pair: link for pair, link in network.items() if link.width > 0}
    found = []
    for regions in _routes(_nearest(network, usable, source, destination), source, destination, limits.most_stages):
        pairs = list(pairwise(regions))
        if not all(pair in usable for pair in pairs):
            continue
        usd = sum(usable[pair].usd_per_gb for pair in pairs)
        if usd > limits.most_usd_per_gb:
            continue
        for straight in (0.0, limits.straight) if limits.straight > 0 else (0.0,):
            steps = tuple(growth(network, regions, limits.most_relays, limits.most_in_region, straight))
            if steps:
                found.append(Candidate(regions, steps, usd))
    return sorted(found, key=lambda one: (len(one.regions), one.usd_per_gb, one.regions, -one.steps[0].relays))


def _routes(between: list[str], source: str, destination: str, most_stages: int) -> Iterator[tuple[str, ...]]:
    for passed in range(most_stages - 1):
        for way in permutations(between, passed):
            yield (source, *way, destination)


def _nearest(network: NetworkMap, usable: Mapping[tuple[str, str], object], source: str, destination: str) -> list[str]:
    """The third regions to consider, by name: those whose best route has most rate for each of its relays."""
    third = [region for region in network.regions if region not in (source, destination)]
    if len(third) <= MOST_REGIONS - 2:
        return third
    width: dict[tuple[str, str], float] = defaultdict(float)
    width |= {pair: network[pair].width for pair in usable}
    worth = {one: min(width[source, one], width[one, destination]) / 3 for one in third}
    for one, other in permutations(third, 2):
        both = min(width[source, one], width[one, other], width[other, destination]) / 4
        worth[one], worth[other] = max(worth[one], both), max(worth[other], both)
    return sorted(sorted(third, key=lambda one: -worth[one])[: MOST_REGIONS - 2])
