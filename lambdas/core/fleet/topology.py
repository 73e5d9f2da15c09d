"""The places of a transfer's relays and the ways of its data: routes are data (docs/design/019-routes.md).

`routes_of` lays out every route that a transfer may use; `Stage.node_id` and `path_id` give names, which only this
module reads again. Nobody else tells one stage from another by a word.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, NamedTuple

from lambdas.core.documents import MAX_STAGES
from lambdas.core.fleet.membership import RELAY_PORT
from lambdas.core.fleet.providers import PROVIDERS
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.places.machines import EndMachine, TransitRegion
from lambdas.core.places.place import Place
from lambdas.core.transfer.accepted import AcceptedTransfer

GroupKind = Literal["relay", "endpoint"]
PAIR = ("source", "destination")
TRANSIT = "transit"
_PAIR_ID = re.compile(r"pair-([0-9]+)(?:-([0-9]+))?")
_ROUTE_ID = re.compile(r"route-([0-9]+)((?:-[0-9]+)+)")


@dataclass(frozen=True)
class Stage:
    """`count` relays side by side in one VPC; their slots are numbered from 1.

    `index`: no other stage of the transfer has it, of whatever route. `name` is for people: it stands in node ids, tags
    and messages. `end`: the end machine in the same VPC, if any.
    """

    index: int
    name: str
    region: str
    vpc_id: str
    count: int = 0
    end: EndMachine | None = None

    @property
    def slots(self) -> range:
        """Slots of its relays."""
        return range(1, self.count + 1)

    @property
    def place(self) -> Place:
        """Where its relays are."""
        return Place(self.region, self.vpc_id)

    @property
    def zone(self) -> str:
        """The zone in which traffic to and from the end is free; empty where the stage is beside no end."""
        return self.end.availability_zone if self.end else ""

    @property
    def subnet_id(self) -> str:
        """The subnet that is tried first; empty for none."""
        return self.end.subnet_id if self.end else ""

    @property
    def where(self) -> str:
        """The place in words, e.g. `vpc-1 (us-west-2), the VPC of i-0123456789abcdef0`."""
        return self.end.where if self.end else f"{self.vpc_id} ({self.region})"

    def node_id(self, slot: int, generation: int) -> str:
        """E.g. `source-1-0`."""
        return f"{self.name}-{slot}-{generation}"


@dataclass(frozen=True)
class Route:
    """Stages in the order in which data passes them, one relay of each. Hop n leads to stage n, the last to the end.

    Their indices follow each other.
    """

    source: EndMachine
    stages: tuple[Stage, ...]
    destination: EndMachine
    store: str | None = None
    """The region of the bucket that its last relays dial in place of a receiver; both ends are beside each other then,
    and its one stage is beside them.
    """

    @property
    def between(self) -> tuple[str, ...]:
        """The third regions that it leads through; none for a pair."""
        return tuple(stage.region for stage in self.stages if stage.end is None)

    @property
    def is_straight(self) -> bool:
        """Return whether its last relays send straight to the receiver, or to a store, without others beside it."""
        return bool(self.store) or (bool(self.stages) and self.stages[-1].end is not self.destination)

    @property
    def way(self) -> tuple[str, ...]:
        """The regions that data passes, the source's first, the destination's last."""
        if self.store:
            here = self.stages[0]
            return (here.region, self.store) if here.name == PAIR[0] else (self.store, here.region)
        return (*(stage.region for stage in self.stages), *([self.destination.region] if self.is_straight else []))

    @property
    def first(self) -> int:
        """Index of its first stage."""
        return self.stages[0].index if self.stages else 0

    def own(self, nodes: Iterable[Node]) -> list[Node]:
        """Its relays among those of a transfer."""
        return [node for node in nodes if node.stage in self.indices]

    @property
    def indices(self) -> range:
        """Those of its stages."""
        return range(self.first, self.first + len(self.stages))

    def stage_of(self, node: Node) -> Stage:
        """The stage of one of its relays."""
        return self.stage_at(node.stage)

    def stage_at(self, index: int) -> Stage:
        """The stage of an index."""
        return self.stages[index - self.first]

    @property
    def places(self) -> list[EndMachine | Stage]:
        """Everything that data passes; hop n joins place n and the next one."""
        return [self.source, *self.stages, self.destination]

    @property
    def regions(self) -> list[str]:
        """Every region in which something may have been started or opened."""
        return sorted({place.region for place in self.places})

    def is_inside(self, hop: int) -> bool:
        """Return whether a hop stays in one VPC."""
        before, after = self.places[hop : hop + 2]
        return (before.region, before.vpc_id) == (after.region, after.vpc_id)

    def address(self, hop: int, paths: ResolvedPaths, private: str, public: str | None) -> str:
        """The address by which one machine of a hop knows the other; raises LookupError as `ResolvedPaths.outward`."""
        return private if self.is_inside(hop) else paths.outward(private, public)

    def in_other_zone(self, node: Node) -> bool:
        """Return whether what goes between the relay and its end is charged as traffic between zones."""
        stage = self.stage_of(node)
        return stage.end is not None and node.availability_zone != stage.zone

    def partners(self, node: Node) -> set[tuple[int, int]]:
        """Stage and slot of the relays with which a relay makes up a path of one slot."""
        return {(stage.index, node.slot) for stage in self.stages if stage.index != node.stage}


def pair_of(source: EndMachine, destination: EndMachine, counts: Sequence[int] = (0, 0)) -> Route:
    """A stage of relays beside each end, `counts` of them: the route that every transfer has."""
    beside = zip(PAIR, (source, destination), counts, strict=True)
    stages = (Stage(index, name, end.region, end.vpc_id, count, end) for index, (name, end, count) in enumerate(beside))
    return Route(source, tuple(stages), destination)


def route_of(transfer: AcceptedTransfer, counts: Sequence[int] = (0, 0)) -> Route:
    """The route of an accepted transfer's pairs."""
    return pair_of(transfer.at_source, transfer.at_destination, counts)


def routes_of(transfer: AcceptedTransfer) -> tuple[Route, ...]:
    """Every route that relays of the transfer may make up: the pair, those through third regions, and all of these
    without their last stage, whose relays then send straight to the receiver. With a bucket at an end it is one stage
    beside the machine at the other.

    It depends on nothing but the accepted transfer, so that a stage keeps its index whatever is planned, and however
    often. Most routes never get a relay.
    """
    if transfer.errand.copies:
        return ()
    if transfer.on_one_machine:
        return (_to_store(transfer),)
    routes = [route_of(transfer)]
    for count in range(1, MAX_STAGES - 1):
        for regions in permutations(transfer.transit, count):
            routes.append(_through(transfer, regions, routes[-1].indices.stop))
    for count in range(MAX_STAGES - 1):
        for regions in permutations(transfer.transit, count):
            routes.append(_through(transfer, regions, routes[-1].indices.stop, straight=True))
    return tuple(routes)


def route_at(transfer: AcceptedTransfer, stage: int) -> Route:
    """The route that has a stage; raises LookupError."""
    return next(route for route in routes_of(transfer) if stage in route.indices)


def stage_at(transfer: AcceptedTransfer, stage: int) -> Stage:
    """The stage of an index; raises LookupError."""
    return route_at(transfer, stage).stage_at(stage)


def side_of(transfer: AcceptedTransfer, stage: int) -> int:
    """Whose types the relays of a stage have: 1 beside the destination, else 0, for those of third regions too."""
    route = route_at(transfer, stage)
    if route.store:
        return 0
    return int(route.stage_at(stage).end is route.destination)


def regions_of(transfer: AcceptedTransfer) -> list[str]:
    """Every region in which something may have been started or opened for a transfer."""
    return sorted({region for route in routes_of(transfer) for region in route.regions})


def _to_store(transfer: AcceptedTransfer) -> Route:
    is_written = transfer.request.destination.kind == "bucket"
    end = transfer.at_source if is_written else transfer.at_destination
    stage = Stage(0, PAIR[0] if is_written else PAIR[1], end.region, end.vpc_id, end=end)
    region = transfer.destination_region if is_written else transfer.source_region
    return Route(transfer.at_source, (stage,), transfer.at_destination, region)


def _through(
    transfer: AcceptedTransfer, regions: Sequence[TransitRegion], first: int, *, straight: bool = False
) -> Route:
    source, destination = transfer.at_source, transfer.at_destination
    places = [
        (PAIR[0], source.region, source.vpc_id, source),
        *((TRANSIT, one.region, one.vpc_id, None) for one in regions),
        *([] if straight else [(PAIR[1], destination.region, destination.vpc_id, destination)]),
    ]
    # Those of a pair have no number, as people know them.
    stages = (
        Stage(index, f"{name}-{index}", region, vpc_id, end=end)
        for index, (name, region, vpc_id, end) in enumerate(places, first)
    )
    return Route(source, tuple(stages), destination)


class Admission(NamedTuple):
    """One of a VPC's groups lets an address in at a port."""

    beside: Stage | EndMachine
    group: GroupKind
    address: str
    port: int


def admissions(
    route: Route,
    paths: ResolvedPaths,
    node: Node,
    existing: Collection[int],
    receiver_port: int,
    beside_source: Iterable[EndMachine] = (),
    relays: Iterable[Node] = (),
) -> list[Admission]:
    """Return the rules for a relay that has its addresses: its own stage to the source, the next machines to itself.

    So a stage admits exactly the one before it. `existing`: stages with machines of the user, which are in the group
    of the ends. `beside_source`: machines that send as well. `relays`: those that live; the pool's
    have ports of their own.
    """
    here, hop = route.stage_of(node), node.stage - route.first + 1
    group, port = PROVIDERS[node.provider].group, node.port or RELAY_PORT
    pooled = [other for other in route.own(relays) if "pool" in (node.provider, other.provider)]
    found = []
    if hop == 1:
        source = route.source.private_address if route.is_inside(0) else paths.source_address
        others = (route.address(0, paths, one.private_address, one.public_address) for one in beside_source)
        found += [Admission(here, group, address, port) for address in (source, *others)]
    # A launched one lets nobody in by itself: who sends to it has its port beforehand.
    before = [other for other in pooled if other.stage == node.stage - 1 and other.running_at is not None]
    addresses = [route.address(hop - 1, paths, other.private_address, other.public_address) for other in before]
    found += [Admission(here, group, address, port) for address in addresses]
    if route.store:
        return found
    own = route.address(hop, paths, node.private_address, node.public_address)
    if hop == len(route.stages):
        return [*found, Admission(route.destination, "endpoint", own, receiver_port)]
    following = route.stages[hop]
    groups: list[GroupKind] = ["relay", "endpoint"] if following.index in existing else ["relay"]
    found += [Admission(following, kind, own, RELAY_PORT) for kind in groups]
    ports = {other.port for other in pooled if other.stage == following.index and other.provider == "pool"}
    return found + [Admission(following, "relay", own, port) for port in sorted(filter(None, ports - {RELAY_PORT}))]


def path_id(slots: Sequence[int], first: int = 0) -> str:
    """The id of the path through one relay of each stage, the first of which has index `first`.

    A pair's is `pair-2` where both share a slot, else `pair-2-3`; `route-4-2-2-1` leads through stages 4, 5 and 6.
    """
    if first == 0 and len(slots) == len(PAIR):
        return "-".join(("pair", *map(str, slots if len(set(slots)) > 1 else slots[:1])))
    return "-".join(("route", *map(str, (first, *slots))))


def slot_at(path: str, stage: int) -> int | None:
    """The slot of the relay at `stage` through which a path leads; None where it passes none there."""
    return _slots(path).get(stage)


def leads_through(path: str, node: Node) -> bool:
    """Return whether a path leads through the relay of this stage and slot."""
    return slot_at(path, node.stage) == node.slot


def share_relays(paths: Iterable[str]) -> bool:
    """Return whether two of the paths lead through one relay: then no path's rate is that of its relays."""
    used = [place for path in paths for place in _slots(path).items()]
    return len(set(used)) < len(used)


def strength_of(paths: Iterable[str]) -> int:
    """Return how many paths' worth of relays carry these paths: of each route as many as its smallest stage has."""
    routes: dict[int, dict[int, set[int]]] = {}
    for slots in map(_slots, paths):
        for stage, slot in slots.items():
            routes.setdefault(min(slots), {}).setdefault(stage, set()).add(slot)
    return sum(min(map(len, stages.values())) for stages in routes.values())


def _slots(path: str) -> dict[int, int]:
    """The slot at each stage that a path passes; none for the direct path."""
    if pair := _PAIR_ID.fullmatch(path):
        return {0: int(pair[1]), 1: int(pair[2] or pair[1])}
    if route := _ROUTE_ID.fullmatch(path):
        return dict(enumerate(map(int, route[2][1:].split("-")), int(route[1])))
    return {}
