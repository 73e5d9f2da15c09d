"""GEO-DMS's Algorithm 1, with what its printed form leaves out: it counts the relays that it adds.

It is what `routes.select` is compared with. It goes by the widest path, whatever a relay adds there, and it looks at
one step and one path ahead.
"""

from dataclasses import replace

from lambdas.core.routes.network_map import NetworkMap
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from lambdas.core.routes.widest_path import widest


def algorithm_one(
    network: NetworkMap, source: str, destination: str, most_relays: int, least_gain: float = 0.05
) -> Scheme:
    """Return its scheme for at most so many relays."""
    routes: list[RoutePlan] = []
    banned: set[tuple[str, str]] = set()
    path, used = widest(network, source, destination), 0
    while path and used + len(path) <= most_relays:
        route = RoutePlan(path, (1,) * len(path))
        banned |= set(route.links)
        following = widest(network, source, destination, banned)
        each = 0.0
        if following:
            each = RoutePlan(following, (1,) * len(following)).rate(network) / len(following)
        route = _grown(network, route, most_relays - used, each)
        used += route.count
        routes.append(route)
        path = following
    return Scheme(_worth(network, routes, least_gain))


def _grown(network: NetworkMap, route: RoutePlan, most_relays: int, each: float) -> RoutePlan:
    """The route with relays added at its slowest link as long as each adds as much as the next path would."""
    while True:
        rates = [
            network.link(*pair).carried(*route.relays[stage : stage + 2]) for stage, pair in enumerate(route.links)
        ]
        slowest = rates.index(min(rates))
        sides = route.relays[slowest : slowest + 2]
        relays = list(route.relays)
        for side in (0, 1):
            if sides[side] == min(sides):
                relays[slowest + side] += 1
        grown = replace(route, relays=tuple(relays))
        gained = (grown.rate(network) - route.rate(network)) / (grown.count - route.count)
        if grown.count > most_relays or gained <= 0 or gained < each:
            return route
        route = grown


def _worth(network: NetworkMap, routes: list[RoutePlan], least_gain: float) -> tuple[RoutePlan, ...]:
    while len(routes) > 1:
        without = sum(route.rate(network) for route in routes[:-1])
        if routes[-1].rate(network) >= least_gain * without:
            break
        routes = routes[:-1]
    return tuple(routes)
