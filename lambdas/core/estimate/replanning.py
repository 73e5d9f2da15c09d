"""The plan made again while data moves: what this transfer sees of its routes, and whether other ones make the rest
shorter.

MB, MB/s (10^6 bytes), seconds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lambdas.core.estimate.figures import Figure, Figures
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.route_use import RouteUse, in_words
from lambdas.core.estimate.tested_routes import row_of
from lambdas.core.estimate.ways import Border, SideRate, Ways
from lambdas.core.models.models import LEAST_GAIN
from lambdas.core.models.zero_wait import Serving, zero_wait
from lambdas.core.request.request import Objective

# Ends that carry this share of what they can are the limit: no other route would make them faster.
FULL = 0.9
# A route that carries less than this share of all is not worth its relays.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Carrying:
    """A route as its relays serve now: its first stage, its regions, relays in each, and the MB/s that it carries."""

    stage: int
    regions: tuple[str, ...]
    relays: tuple[int, ...]
    rate: float


@dataclass(frozen=True)
class Rest:
    """MB that are left; MB/s of the direct path, and of what each end can move; seconds until a new relay serves."""

    size: float
    direct: float
    source: float
    destination: float
    spawn_seconds: float

    @property
    def useful(self) -> float:
        """MB/s beside the direct path that the ends can use at most."""
        return max(min(self.source, self.destination) - self.direct, 0.0)


@dataclass(frozen=True)
class Replan:
    """Other routes than those that carry data: `uses` in all; seconds of the rest without and with them."""

    uses: tuple[RouteUse, ...]
    stays: float
    becomes: float

    @property
    def words(self) -> str:
        """The routes that the plan takes, with the seconds that are left with it and without it."""
        ways = in_words(self.uses) or "the direct path alone"
        return f"{ways}: the rest takes {self.becomes:.0f} s, as it is {self.stays:.0f} s"


def seen(ways: Ways, carrying: Sequence[Carrying]) -> Ways:
    """The borders as this transfer sees them: a route's narrowest lets pass what the route does, others at least that.

    Which border of a route has changed cannot be seen at its end; of the narrowest one least is lost by a wrong guess.
    """
    for route in carrying:
        crossed = [
            (pair, ways.network.link(*pair).carried(*relays))
            for pair, relays in zip(pairwise(route.regions), pairwise(route.relays), strict=True)
        ]
        narrowest = min(crossed, key=lambda one: one[1])[0]
        borders = dict(ways.borders)
        for pair, carried in crossed:
            if carried and (carried < route.rate or pair == narrowest):
                borders[pair] = _times(borders[pair], route.rate / carried)
        ways = replace(ways, borders=borders)
    return ways


def replan(ways: Ways, carrying: Sequence[Carrying], rest: Rest, most_relays: int) -> Replan | None:
    """Other routes, if the rest gets shorter by `LEAST_GAIN` with the time that new relays need; else None.

    `ways`: as `seen`. A route that carries next to nothing goes in any case. Where nothing moves at all, an end is at
    fault.
    """
    total = rest.direct + sum(route.rate for route in carrying)
    if rest.size <= 0 or total <= 0 or total >= FULL * min(rest.source, rest.destination):
        return None
    found = tuple(ways.uses(most_relays, rest.useful))
    after = _seconds_after(carrying, found, rest)
    stays = _seconds(rest, [Serving(route.rate) for route in carrying])
    if after < stays * (1 - LEAST_GAIN):
        return Replan(found, stays, after)
    idle = [route for route in carrying if route.rate < LEAST_SHARE * total]
    if not idle:
        return None
    kept = [route for route in carrying if route not in idle]
    uses = tuple(ways.use_as(route.regions, route.relays) for route in kept)
    return Replan(uses, stays, _seconds(rest, [Serving(route.rate) for route in kept]))


def is_preferred(
    found: Replan, serving: Sequence[RouteUse], rest: Rest, figures: Figures, objective: Objective
) -> bool:
    """Whether what the request wants is better served: less time may cost more than it is worth.

    `serving`: the routes as they carry data now. Routes that only get smaller, or go, need no reason. A deadline of
    `objective`, and DistCp's time of `figures`, is that of the rest.
    """
    now = {stage: count for use in serving for stage, count in use.stages().items()}
    if all(count <= now.get(stage, 0) for use in found.uses for stage, count in use.stages().items()):
        return True
    size = rest.size * 1e6
    after = row_of(size, found.becomes, rest.direct, found.uses, figures)
    before = row_of(size, found.stays, rest.direct, serving, figures)
    return preference(after, objective, figures) < preference(before, objective, figures)


def changes(carrying: Iterable[Carrying], uses: Iterable[RouteUse]) -> dict[int, int]:
    """Relays more (above 0) or fewer (below) at each stage whose number changes, by its index."""
    # A last stage of no relays has no index: that is another route's.
    now = {stage: count for route in carrying for stage, count in enumerate(route.relays, route.stage) if count}
    then = {stage: count for use in uses for stage, count in use.stages().items()}
    more = {stage: then.get(stage, 0) - now.get(stage, 0) for stage in now | then}
    return {stage: count for stage, count in more.items() if count}


def _times(border: Border, factor: float) -> Border:
    sent, received = (_seen(side, side.counted * factor) for side in (border.sent, border.received))
    return replace(border, sent=sent, received=received)


def _seen(side: SideRate, rate: float) -> SideRate:
    """What passes now; the border may let pass again what it did, which is what a budget has to bear."""
    most = side.figure.most
    high = most if most > rate else None
    return SideRate(Figure(value=rate, high=high, origin="measured", note="seen by this transfer"), rate)


def _seconds_after(carrying: Sequence[Carrying], uses: Sequence[RouteUse], rest: Rest) -> float:
    """Seconds of the rest, where routes that leave serve until those that come do."""
    planned = {use.stage: use.rate.now for use in uses}
    paths = []
    for route in carrying:
        # It serves as it does until relays join it, or leave it.
        paths.append(Serving(route.rate, leaves=rest.spawn_seconds))
        paths.append(Serving(planned.pop(route.stage, 0.0), joins=rest.spawn_seconds))
    paths += [Serving(rate, joins=rest.spawn_seconds) for rate in planned.values()]
    return _seconds(rest, paths)


def _seconds(rest: Rest, paths: Sequence[Serving]) -> float:
    return zero_wait(rest.size, [Serving(rest.direct), *paths], rest.source, rest.destination)
