"""The choice of relays that carry data together: paths as a function of the node table (docs/design/007-fleet)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod

from lambdas.core.fleet import topology
from lambdas.core.fleet.layout import ONE_AND_ONE, Layout, seats_of
from lambdas.core.fleet.membership import RELAY_PORT, Hop, TransferPath
from lambdas.core.fleet.relay_node import LIVE_STATES, Node, NodeState
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.fleet.topology import Route

# Both ends ask for the memory of so many lanes when they start. A relay reaches no more of another stage than keeps
# all meshes of a transfer within it together, and two at least: 128 paths between 64 relays and 63.
MESH_PATHS = 64
# Each has a part or range of S3 at a time, and one more waits behind it, which a slow relay keeps to the last: eight at
# 85 MB/s are 5 Gbit/s, as much as crosses the border of a region behind an internet gateway.
LANES_TO_STORE = 8
LEAST_REACH = 2


@dataclass(frozen=True)
class RelayPath:
    """A relay of each stage, one feeding the next; with two stages a pair."""

    relays: tuple[Node, ...]

    @property
    def slot(self) -> int:
        """Number of the first relay, from 1."""
        return self.relays[0].slot

    @property
    def slots(self) -> tuple[int, ...]:
        """Numbers of all its relays."""
        return tuple(node.slot for node in self.relays)

    @property
    def path_id(self) -> str:
        """Its name in the membership."""
        return topology.path_id(self.slots, self.relays[0].stage)

    @property
    def generation(self) -> int:
        """Grows when any of the relays is replaced."""
        return sum(node.generation for node in self.relays)

    def path(self, route: Route, paths: ResolvedPaths, lanes: int, layout: Layout = ONE_AND_ONE) -> TransferPath:
        """Each hop with the address by which the machine before knows the next one.

        Its slots say which seats it joins, so that no other path's relays change that.
        """
        addresses = [
            route.address(hop, paths, node.private_address, node.public_address) for hop, node in enumerate(self.relays)
        ]
        ends_inside = not route.store and route.is_inside(len(self.relays))
        joint = layout.joint(self.slots[0] - 1, self.slots[-1] - 1)
        return TransferPath(
            path_id=self.path_id,
            generation=self.generation + joint.changes,
            hops=[
                Hop(node_id=node.node_id, address=f"{address}:{node.port or RELAY_PORT}")
                for node, address in zip(self.relays, addresses, strict=True)
            ],
            receiver=layout.receiver(joint.receiver, paths, inside=ends_inside),
            lanes=min(lanes, LANES_TO_STORE) if route.store else lanes,
            store=True if route.store else None,
            **seats_of(joint),
        )


def all_paths(
    routes: Iterable[Route],
    nodes: Iterable[Node],
    paths: ResolvedPaths,
    lanes: int,
    layout: Layout = ONE_AND_ONE,
) -> list[TransferPath]:
    """The paths of all routes; those with a mesh share its bound.

    So there are `MESH_PATHS` and two for each relay at most, whatever the number of routes: membership, looks and the
    sender's report are items of 400 KB.
    """
    joined = [node for node in nodes if node.state == "JOINED"]
    serving = [route for route in routes if route.own(joined)]
    meshes = sum(_is_mesh(_serving(route, joined)) for route in serving)
    most = MESH_PATHS // max(meshes, 1)
    return [path for route in serving for path in relay_paths(route, joined, paths, lanes, most, layout)]


def relay_paths(
    route: Route,
    nodes: Iterable[Node],
    paths: ResolvedPaths,
    lanes: int,
    mesh_paths: int = MESH_PATHS,
    layout: Layout = ONE_AND_ONE,
) -> list[TransferPath]:
    """The paths through all JOINED relays; `lanes`: TCP streams that one path begins with where none shares a relay."""
    stages = _serving(route, nodes)
    joined = _mesh(stages, mesh_paths) if _is_mesh(stages) else _match(stages)
    if not topology.share_relays(found.path_id for found in joined):
        return [found.path(route, paths, lanes, layout) for found in joined]
    # As many lanes in all as pairs would have, more of them where more has been measured, and one at least.
    most = lanes * max(len(stage) for stage in stages)
    weights = [_weight(found) for found in joined]
    if not all(weights):
        weights = [1.0] * len(joined)
    shares = (most * weight / sum(weights) for weight in weights)
    return [found.path(route, paths, max(round(share), 1), layout) for found, share in zip(joined, shares, strict=True)]


def _serving(route: Route, nodes: Iterable[Node]) -> list[list[Node]]:
    """The JOINED relays of each stage, by slot."""
    # One that serves until its successor has joined as well is the older of the two.
    serving = _newest([node for node in route.own(nodes) if node.state == "JOINED"], "JOINED")
    return [[node for node in serving if node.stage == stage.index] for stage in route.stages]


def _is_mesh(stages: Sequence[list[Node]]) -> bool:
    return all(stages) and len({len(stage) for stage in stages}) > 1


def _match(stages: Sequence[list[Node]]) -> list[RelayPath]:
    """One-to-one, by slot first. Stages are equal, or one is empty."""
    if not all(stages):
        return []
    by_slot = [{node.slot: node for node in stage} for stage in stages]
    whole = set.intersection(*(set(known) for known in by_slot))
    matched = [tuple(known[slot] for known in by_slot) for slot in whole]
    left = zip(*([node for node in stage if node.slot not in whole] for stage in stages), strict=True)
    return sorted((RelayPath(relays) for relays in (*matched, *left)), key=lambda found: found.slots)


def _mesh(stages: Sequence[list[Node]], most: int) -> list[RelayPath]:
    """Every relay of the largest stage with one of every other that is its own, and with the nearest, by slot.

    `most`: so many paths, if two for each relay of the largest stage are no more. Of two stages that are every source
    relay with every destination relay; partners of one slot stay so, and no relay is left out.
    """
    largest = max(stages, key=len)
    others = max(len(stage) for stage in stages if stage is not largest)
    reach = min(max(most // len(largest), LEAST_REACH), others)
    circle = max(node.slot for stage in stages for node in stage)
    own = [_own(largest, stage) for stage in stages]
    found = []
    for node in largest:
        nearest = [
            [node] if stage is largest else _nearest(node, stage, mine.get(node.slot), circle)
            for stage, mine in zip(stages, own, strict=True)
        ]
        found += [RelayPath(tuple(stage[turn % len(stage)] for stage in nearest)) for turn in range(reach)]
    return sorted(found, key=lambda path: path.slots)


def _nearest(to: Node, stage: list[Node], own: Node | None, circle: int) -> list[Node]:
    """Its own first, then by how far their slots come after its own, on a circle."""
    return sorted(stage, key=lambda other: (other is not own, (other.slot - to.slot) % circle))


def _own(largest: list[Node], stage: list[Node]) -> dict[int, Node]:
    """Return by slot of the largest stage the relay of the same slot, else one whose slot the largest stage lacks."""
    by_slot = {node.slot: node for node in stage}
    slots = {node.slot for node in largest}
    lacking = [node for node in largest if node.slot not in by_slot]
    left = [node for node in stage if node.slot not in slots]
    paired = {node.slot: other for node, other in zip(lacking, left, strict=False)}
    return {slot: by_slot[slot] for slot in slots & by_slot.keys()} | paired


def _weight(path: RelayPath) -> float:
    """Return the product of its relays' measured rates: a relay's lanes are shared out by the rates of the others."""
    return prod(node.measured_inter_region or 0.0 for node in path.relays)


def entrants(route: Route, nodes: Iterable[Node]) -> list[Node]:
    """READY relays that can carry data at once.

    A relay waits for the partners of its slot; where its slot was never filled at another stage, for anybody there.
    One that has joined goes on without its partners, and none waits for one of a larger stage that is gone.
    """
    nodes = route.own(nodes)
    able = _newest(nodes, "READY", "JOINED")
    missing = _places(nodes) - _places(able)
    gone = missing - _places(_newest(nodes, *LIVE_STATES))

    def waits(node: Node) -> bool:
        return bool(route.partners(node) & (missing - gone) or _needed(route, nodes, node) & gone)

    come = [node for node in able if node.state == "JOINED" or not waits(node)]
    whole = len({node.stage for node in come}) == len(route.stages)
    return [node for node in come if node.state == "READY" and whole]


def singles(route: Route, nodes: Iterable[Node]) -> list[Node]:
    """Live relays that have nobody left to work with, successors that are on their way counted in.

    That is a partner of their slot: one more at one stage adds nothing to like relays. Where a slot was never filled
    at another stage, it is everybody there. A stage of more relays has weaker ones, of which those that are left go on
    with the same relays of the smaller stage.
    """
    nodes = route.own(nodes)
    live = _newest(nodes, *LIVE_STATES)
    missing = _places(nodes) - _places(live)
    whole = len({node.stage for node in live}) == len(route.stages)
    return [node for node in live if not whole or _needed(route, nodes, node) & missing]


def _needed(route: Route, nodes: Iterable[Node], node: Node) -> set[tuple[int, int]]:
    """Return the partners of a relay without which it is of no use: those at stages that never had more relays."""
    sizes = Counter(stage for stage, _ in _places(nodes))
    return {place for place in route.partners(node) if sizes[place[0]] <= sizes[node.stage]}


def strength(routes: Iterable[Route], nodes: Iterable[Node], *states: NodeState) -> int:
    """Return how many paths' worth of relays are in one of `states`: like relays carry what the smallest stage can."""
    found = _newest(nodes, *states)
    return sum(min(sum(node.stage == stage.index for node in found) for stage in route.stages) for route in routes)


def by_slot(route: Route, nodes: Iterable[Node], *states: NodeState) -> list[RelayPath]:
    """Paths of one slot of which all relays, the newest of their slot, are in one of `states`; by slot."""
    groups = groupby(_newest(route.own(nodes), *states), key=lambda node: node.slot)
    found = [RelayPath(tuple(same)) for _, same in groups]
    return [path for path in found if len(path.relays) == len(route.stages)]


def _newest(nodes: Iterable[Node], *states: NodeState) -> list[Node]:
    """The newest of each stage and slot, where it is in one of `states`; by slot, then stage."""
    ordered = sorted(nodes, key=lambda node: (node.slot, node.stage, node.generation))
    newest = [list(same)[-1] for _, same in groupby(ordered, key=lambda node: (node.slot, node.stage))]
    return [node for node in newest if node.state in states]


def _places(nodes: Iterable[Node]) -> set[tuple[int, int]]:
    return {(node.stage, node.slot) for node in nodes}
