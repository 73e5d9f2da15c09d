"""What an estimate is to say: of moving data, or of measuring the machines."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lambdas.adapters.world import World
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.link_measuring import estimate_of_links
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.profiling import estimate_of_measuring
from lambdas.core.fleet.stations import stations_of
from lambdas.core.request.request import Objective
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.errand import MEASURE
from lambdas.operations.estimate.routing import ways_of


@dataclass(frozen=True)
class Aim:
    """What is chosen, and from what."""

    requested: int | Literal["auto"]
    """Pairs."""
    pre_test: Literal["auto"] | bool
    objective: Objective
    pair_route: PairRoute
    takes_ways: bool
    """Relays may stand in third regions, or be more on one side than on the other."""
    reason: str | None = None
    """Why there are no relays, where there is nothing to choose."""
    brings_nothing: bool = False
    """No number of relays could be of use."""
    finished: Callable[[Estimate], Estimate] = lambda found: found


def aim_of(transfer: AcceptedTransfer, size_bytes: int, world: World) -> Aim:
    """What the errand of a transfer is estimated by, where there is no state that knows."""
    return of_measuring(transfer, world) if transfer.errand is MEASURE else of_moving(transfer, size_bytes)


def of_moving(transfer: AcceptedTransfer, size_bytes: int) -> Aim:
    """The rows of a transfer of so many bytes; no relay helps where there are none, whatever was asked for."""
    request, sides = transfer.request, transfer.request.relays.sides
    lent = Counter(machine.stage for machine in transfer.existing)
    reason = None if size_bytes else "there is nothing to send"
    route = PairRoute(
        regions=transfer.relay_regions,
        asked=[sides.source, sides.destination] if sides else None,
        lent=[lent[0], lent[1]] if lent else None,
    )
    is_near = request.has_bucket and not transfer.between_regions
    if is_near and size_bytes:
        reason = _of_near_bucket(request.relays.wanted, route)
    return Aim(
        requested=0 if reason else request.relays.wanted,
        pre_test=request.testing,
        objective=request.objective,
        pair_route=route,
        takes_ways=True,
        reason=reason,
        brings_nothing=is_near,
    )


def of_measuring(transfer: AcceptedTransfer, world: World) -> Aim:
    """The rows of measuring: of pairs; with third regions of every link between them."""
    seconds, most = world.pre_test_seconds(transfer.request), transfer.request.objective.max_cost_usd

    def finished(found: Estimate) -> Estimate:
        # Measuring tries every link, and says of which one it could not.
        ways = ways_of(transfer, found, world, closed=[]) if transfer.transit else None
        if ways is None:
            return estimate_of_measuring(found, seconds, most)
        return estimate_of_links(found, ways, stations_of(transfer), seconds, most)

    return Aim(
        requested=1,
        pre_test=True,
        objective=Objective(),
        # As many at both sides, whatever machines the user lends.
        pair_route=PairRoute(regions=transfer.relay_regions),
        takes_ways=False,
        finished=finished,
    )


def _of_near_bucket(wanted: int | Literal["auto"], route: PairRoute) -> str:
    why = "bucket and machine are in one region, where no border holds the machine back: relays bring nothing"
    return why if wanted == "auto" or not wanted else f"{route.are(wanted, 'was', 'were')} asked for, not used: {why}"
