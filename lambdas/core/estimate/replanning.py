"""The plan made again while data moves: what this transfer sees of its routes, and whether other ones make the rest
shorter.

MB, MB/s (10^6 bytes), seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lambdas.core.estimate.route_rows import Ways
from lambdas.core.models import LEAST_GAIN
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from lambdas.core.zero_wait import Serving, zero_wait

# Ends that carry this share of what they can are the limit: no other route would make them faster.
FULL = 0.9
# A route that carries less than this share of all is not worth its relays.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Carrying:
    """A route as its relays serve now, and the MB/s that it has carried in the last half minute."""

    plan: RoutePlan
    rate: float


@dataclass(frozen=True)
class Rest:
    """MB that are left; MB/s of the direct path, and of what each end can move; seconds until a new relay serves."""

    size: float
    direct: float
    source: float
    destination: float
    spawn_seconds: float


@dataclass(frozen=True)
class Replan:
    """Other routes than those that carry data: `scheme` in all; seconds of the rest without and with them."""

    scheme: Scheme
    stays: float
    becomes: float

    @property
    def words(self) -> str:
        """For people."""
        ways = ", ".join(_in_words(plan) for plan in self.scheme.routes) or "the direct path alone"
        return f"{ways}: the rest takes {self.becomes:.0f} s, as it is {self.stays:.0f} s"


def seen(ways: Ways, carrying: Sequence[Carrying]) -> Ways:
    """The links as this transfer sees them: a route's narrowest link carries what the route does, others at least that.

    Which link of a route has changed cannot be seen at its end; of the narrowest one least is lost by a wrong guess.
    """
    links = dict(ways.links)
    for route in carrying:
        network = replace(ways, links=links).network
        crossed = list(zip(route.plan.links, pairwise(route.plan.relays), strict=True))
        narrowest = min(crossed, key=lambda one: network.link(*one[0]).carried(*one[1]))[0]
        for pair, relays in crossed:
            link, carried = links[pair], network.link(*pair).carried(*relays)
            if carried < route.rate or pair == narrowest:
                each = link.counted * route.rate / carried if carried else route.rate / max(relays[0], 1)
                links[pair] = link.seen(each)
    return replace(ways, links=links)


def replan(ways: Ways, carrying: Sequence[Carrying], rest: Rest, most_relays: int) -> Replan | None:
    """Other routes, if the rest gets shorter by `LEAST_GAIN` with the time that new relays need; else None.

    `ways`: as `seen`. A route that carries next to nothing goes in any case.
    """
    total = rest.direct + sum(route.rate for route in carrying)
    if rest.size <= 0 or total >= FULL * min(rest.source, rest.destination):
        return None
    found = ways.scheme(most_relays)
    after = _seconds_after(carrying, found, ways, rest)
    stays = _seconds(rest, [Serving(route.rate) for route in carrying])
    if after < stays * (1 - LEAST_GAIN):
        return Replan(found, stays, after)
    idle = [route for route in carrying if route.rate < LEAST_SHARE * total]
    if not idle:
        return None
    kept = [route for route in carrying if route not in idle]
    return Replan(
        Scheme(tuple(route.plan for route in kept)), stays, _seconds(rest, [Serving(route.rate) for route in kept])
    )


def _seconds_after(carrying: Sequence[Carrying], scheme: Scheme, ways: Ways, rest: Rest) -> float:
    """Seconds of the rest, where routes that leave serve until those that come do."""
    planned = {plan.regions: plan for plan in scheme.routes}
    network = ways.network
    paths = []
    for route in carrying:
        plan = planned.pop(route.plan.regions, None)
        later = plan.rate(network) if plan else 0.0
        # It serves as it does until relays join it, or leave it.
        paths.append(Serving(route.rate, leaves=rest.spawn_seconds))
        paths.append(Serving(later, joins=rest.spawn_seconds))
    paths += [Serving(plan.rate(network), joins=rest.spawn_seconds) for plan in planned.values()]
    return _seconds(rest, paths)


def changes(serving: Mapping[tuple[str, ...], RoutePlan], scheme: Scheme) -> dict[tuple[str, ...], list[int]]:
    """Relays more (above 0) or fewer (below) at each stage of every route that changes, by its regions."""
    planned = {plan.regions: plan.relays for plan in scheme.routes}
    found = {}
    for regions in {**serving, **planned}:
        now = serving[regions].relays if regions in serving else tuple(0 for _ in regions)
        then = planned.get(regions, tuple(0 for _ in regions))
        if now != then:
            found[regions] = [other - one for one, other in zip(now, then, strict=True)]
    return found


def _seconds(rest: Rest, paths: Sequence[Serving]) -> float:
    return zero_wait(rest.size, [Serving(rest.direct), *paths], rest.source, rest.destination)


def _in_words(plan: RoutePlan) -> str:
    between = plan.regions[1:-1]
    how = f"through {', '.join(between)}" if between else "straight"
    return f"{plan.count} relays {how}"
