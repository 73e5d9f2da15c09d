"""The widest path: of all ways between two regions the one whose slowest link is fastest."""

from collections.abc import Collection

from lambdas.core.documents import MAX_STAGES
from lambdas.core.routes.network_map import NetworkMap

Pair = tuple[str, str]


def widest(
    network: NetworkMap,
    source: str,
    destination: str,
    banned: Collection[Pair] = frozenset(),
    most_stages: int = MAX_STAGES,
) -> tuple[str, ...] | None:
    """Return the regions of the widest path, source's and destination's included; None if no path is left.

    `banned`: links that may not be used. Of paths that are equally wide, the one of fewer stages counts, then the one
    that costs fewer dollars per GB, then the first by name.

    The width is found first, and the cheapest path of that width second. One search that keeps the best of both per
    region would go wrong: of two ways to a region the wider one need not be the cheaper one once a narrow link follows.
    """
    usable = [pair for pair, link in sorted(network.items()) if link.width > 0 and pair not in banned]
    width = {source: float("inf")}
    for _ in range(most_stages - 1):
        width = width | {
            region: rate for region, rate in _reached(network, usable, width).items() if rate > width.get(region, 0.0)
        }
    if width.get(destination, 0.0) <= 0 or source == destination:
        return None
    return _cheapest(
        network, [pair for pair in usable if network[pair].width >= width[destination]], source, destination
    )


def _reached(network: NetworkMap, usable: list[Pair], width: dict[str, float]) -> dict[str, float]:
    """The width of every region that one link more leads to."""
    reached: dict[str, float] = {}
    for origin, region in usable:
        rate = min(width.get(origin, 0.0), network[origin, region].width)
        reached[region] = max(rate, reached.get(region, 0.0))
    return reached


def _cheapest(network: NetworkMap, wide: list[Pair], source: str, destination: str) -> tuple[str, ...]:
    """The cheapest of the shortest paths; there is one, and a shortest path passes no region twice."""
    paths: dict[str, tuple[float, tuple[str, ...]]] = {source: (0.0, (source,))}
    while destination not in paths:
        longer: dict[str, tuple[float, tuple[str, ...]]] = {}
        for origin, region in wide:
            if origin in paths and region not in paths:
                usd, path = paths[origin]
                found = (usd + network[origin, region].usd_per_gb, (*path, region))
                longer[region] = min(found, longer.get(region, found))
        paths |= longer
    return paths[destination][1]
