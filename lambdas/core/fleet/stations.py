"""Relays that measure links and carry nothing: one in each region, each of which sends to the others in turn."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lambdas.core.fleet.membership import RELAY_PORT, Hop, Probe, TransferPath
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.fleet.topology import Admission, Stage, route_of, routes_of
from lambdas.core.transfer.accepted import AcceptedTransfer


class Leg(NamedTuple):
    """A link to measure: from the relay of one stage to that of another."""

    start: Stage
    end: Stage

    @property
    def link(self) -> str:
        """Its region pair, as profiles have it."""
        return f"{self.start.region}>{self.end.region}"

    @property
    def path_id(self) -> str:
        """Under this id the sender writes the result."""
        return f"link-{self.start.index}-{self.end.index}"


def stations_of(transfer: AcceptedTransfer) -> list[Stage]:
    """The stage of each region's relay: source's region, destination's, then the third regions.

    That of a third region is the stage of the route which leads through it alone.
    """
    pair = route_of(transfer)
    alone = [route for route in routes_of(transfer) if len(route.between) == 1 and not route.is_straight]
    return [*pair.stages, *(route.stages[1] for route in alone)]


def rounds(stations: Sequence[Stage]) -> list[list[Leg]]:
    """Every link that a route could use; in a round each relay sends to one other, and takes from one other.

    No route leads back into the source's region, or out of the destination's. The first two stations are theirs.
    """
    count = len(stations)
    found = []
    for turn in range(1, count):
        legs = [Leg(start, stations[(at + turn) % count]) for at, start in enumerate(stations)]
        found.append([leg for leg in legs if leg.start != stations[1] and leg.end != stations[0]])
    return [legs for legs in found if legs]


def probe(
    transfer: AcceptedTransfer, paths: ResolvedPaths, nodes: Mapping[int, Node], leg: Leg, seconds: float
) -> Probe:
    """Measure a link; the source reaches its first relay through that of its own region. `nodes`: by stage."""
    stages = [leg.start, leg.end] if leg.start.index == 0 else [stations_of(transfer)[0], leg.start, leg.end]
    addresses = [
        node.private_address if place == 0 else paths.outward(node.private_address, node.public_address)
        for place, node in enumerate(nodes[stage.index] for stage in stages)
    ]
    hops = [
        Hop(node_id=nodes[stage.index].node_id, address=f"{address}:{RELAY_PORT}")
        for stage, address in zip(stages, addresses, strict=True)
    ]
    path = TransferPath(path_id=leg.path_id, generation=0, hops=hops, receiver=paths.receiver_address, lanes=1)
    return Probe(path=path, seconds=seconds, measure_from=len(stages) - 2 or None)


def admissions(transfer: AcceptedTransfer, paths: ResolvedPaths, node: Node) -> list[Admission]:
    """The rules for a relay that has its addresses: the relays that it sends to let it in, and it the source.

    The source reaches the relay of the destination's region for the direct path, too.
    """
    stations = stations_of(transfer)
    source, destination = stations[:2]
    here = next(stage for stage in stations if stage.index == node.stage)
    found = []
    if here == source:
        found.append(Admission(here, "relay", route_of(transfer).source.private_address, RELAY_PORT))
    if here == destination:
        return [Admission(here, "relay", paths.source_address, RELAY_PORT)]
    own = paths.outward(node.private_address, node.public_address)
    others = [stage for stage in stations if stage not in (here, source)]
    return found + [Admission(stage, "relay", own, RELAY_PORT) for stage in others]
