"""A route as it grows: the fewest relays at each stage for every rate that it can carry."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from lambdas.core.routes.network_map import NetworkMap
from lambdas.core.routes.route_plan import RoutePlan

NO_QUOTAS: Mapping[str, int] = MappingProxyType({})
# Sums of rates are compared within this share: two that differ by rounding alone are equal.
ROUNDING = 1e-9


class Step(NamedTuple):
    """A route of so many relays in all, and its MB/s; no relay can go without a loss of rate."""

    plan: RoutePlan
    relays: int
    rate: float


def growth(
    network: NetworkMap,
    regions: tuple[str, ...],
    most_relays: int,
    most_in_region: Mapping[str, int] = NO_QUOTAS,
    straight: float = 0.0,
) -> Iterator[Step]:
    """Yield the route in every useful size, smallest first: each step carries more than the one before it.

    `most_in_region`: relays that a region allows. `straight`: MB/s that the receiver takes from the relays of the last
    region but one; above 0 the last stage has no relays.

    A step adds one relay to every side of a link that limits, so of two links that are equally slow both grow. Any
    assignment that carries more has at least one relay more at each of these sides. The steps therefore hold the fewest
    relays for every rate, stage by stage, and no larger search over counts can do better.
    """
    relays = [1] * len(regions)
    if straight > 0:
        relays[-1] = 0
    links = [network.link(*pair) for pair in pairwise(regions)]
    most = [most_in_region.get(region, most_relays) for region in regions]
    carried = 0.0
    while sum(relays) <= most_relays and all(count <= limit for count, limit in zip(relays, most, strict=True)):
        # The stage of each limit, in MB/s: either side of every link, and the ways between the ends and their relays.
        limits = [(link.sent(relays[stage]), stage) for stage, link in enumerate(links)]
        limits += [(link.received(relays[stage]), stage) for stage, link in enumerate(links, 1)]
        limits += [(network.at_end(regions[stage], relays[stage]), stage) for stage in (0, len(links))]
        rate = min(limits)[0]
        if relays[-1] == 0:
            rate = min(rate, straight)
        if rate <= carried * (1 + ROUNDING):
            return
        yield Step(RoutePlan(regions, tuple(relays)), sum(relays), rate)
        carried = rate
        for stage in {stage for limit, stage in limits if limit <= rate * (1 + ROUNDING)}:
            relays[stage] += 1


def crews(
    network: NetworkMap,
    source: str,
    destination: str,
    most_source: int,
    most_destination: int,
    straight: float = 0.0,
) -> list[RoutePlan]:
    """Return the m-to-n choices between two regions: for each rate that they can carry the fewest relays at each side.

    Where both sides are equal these are pairs. `straight` as for `growth`.
    """
    quotas = {source: most_source, destination: most_destination}
    pair = (source, destination)
    return [step.plan for step in growth(network, pair, most_source + most_destination, quotas, straight)]
