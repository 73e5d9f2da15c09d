"""Which relays carry data together: the membership's paths as a function of the node table (docs/design/007-fleet)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from lambdas.core.fleet.relay_node import LIVE_STATES, ROLES, Node, NodeState, Role
from lambdas.core.transfer import RELAY_PORT, AcceptedTransfer, Hop, ResolvedPaths, TransferPath

# Both ends ask for the memory of so many lanes when they start. A relay reaches no more of the other side than keeps
# the mesh within it, and two at least: 128 paths between 64 relays and 63.
MESH_PATHS = 64
LEAST_REACH = 2

_PATH_ID = re.compile(r"pair-([0-9]+)(?:-([0-9]+))?")


def path_id(source_slot: int, destination_slot: int | None = None) -> str:
    """`pair-2` through both relays of slot 2, `pair-2-3` through the source's relay 2 and the destination's 3."""
    if destination_slot in (None, source_slot):
        return f"pair-{source_slot}"
    return f"pair-{source_slot}-{destination_slot}"


def slots(path: str) -> dict[Role, int]:
    """The slots of a path's relays by their side; none for the direct path."""
    match = _PATH_ID.fullmatch(path)
    if match is None:
        return {}
    source = int(match[1])
    return {"source": source, "destination": source if match[2] is None else int(match[2])}


def leads_through(path: str, node: Node) -> bool:
    """Whether a path leads through the relay of this side and slot."""
    return slots(path).get(node.role) == node.slot


def share_relays(paths: Iterable[str]) -> bool:
    """Whether two of the paths lead through one relay: then no path's rate is that of its relays."""
    used = [item for path in paths for item in slots(path).items()]
    return len(set(used)) < len(used)


@dataclass(frozen=True)
class Pair:
    """A relay of each side, one feeding the other."""

    source: Node
    destination: Node

    @property
    def slot(self) -> int:
        """Number of the source's relay, from 1."""
        return self.source.slot

    @property
    def path_id(self) -> str:
        """The path through both."""
        return path_id(self.source.slot, self.destination.slot)

    @property
    def generation(self) -> int:
        """Grows when either relay is replaced."""
        return self.source.generation + self.destination.generation

    def path(self, paths: ResolvedPaths, lanes: int) -> TransferPath:
        """Source → source relay (inside) → destination relay (between regions) → destination (inside)."""
        outward = paths.outward(self.destination.private_address, self.destination.public_address)
        return TransferPath(
            path_id=self.path_id,
            generation=self.generation,
            hops=[
                Hop(node_id=self.source.node_id, address=f"{self.source.private_address}:{RELAY_PORT}"),
                Hop(node_id=self.destination.node_id, address=f"{outward}:{RELAY_PORT}"),
            ],
            receiver=paths.receiver_inside_address,
            lanes=lanes,
        )


def relay_paths(nodes: Iterable[Node], paths: ResolvedPaths, lanes: int) -> list[TransferPath]:
    """The paths through all JOINED relays; `lanes`: TCP streams that one pair begins with."""
    # One that serves until its successor has joined as well is the older of the two.
    serving = _newest([node for node in nodes if node.state == "JOINED"], "JOINED")
    sides = {role: [node for node in serving if node.role == role] for role in ROLES}
    joined = _pair_up(sides["source"], sides["destination"])
    if not share_relays(pair.path_id for pair in joined):
        return [pair.path(paths, lanes) for pair in joined]
    # As many lanes in all as pairs would have, more of them where more has been measured, and one at least.
    most = lanes * max(len(side) for side in sides.values())
    weights = [_weight(pair) for pair in joined]
    if not all(weights):
        weights = [1.0] * len(joined)
    shares = (most * weight / sum(weights) for weight in weights)
    return [pair.path(paths, max(round(share), 1)) for pair, share in zip(joined, shares, strict=True)]


def _pair_up(sources: list[Node], destinations: list[Node]) -> list[Pair]:
    """One-to-one where the sides are equal, by slot first; else a mesh. Both sides by slot."""
    if len(sources) != len(destinations):
        return _mesh(sources, destinations)
    by_slot = {node.slot: node for node in destinations}
    matched = [Pair(source, by_slot[source.slot]) for source in sources if source.slot in by_slot]
    taken = {pair.slot for pair in matched}
    left = zip(
        [node for node in sources if node.slot not in taken],
        [node for node in destinations if node.slot not in taken],
        strict=True,
    )
    return sorted([*matched, *(Pair(*both) for both in left)], key=lambda pair: pair.slot)


def _mesh(sources: list[Node], destinations: list[Node]) -> list[Pair]:
    """Every source relay with every destination relay, as far as `MESH_PATHS` reach; partners of one slot stay so."""
    if not sources or not destinations:
        return []
    more, fewer = sorted((sources, destinations), key=len, reverse=True)
    reach = max(MESH_PATHS // len(more), LEAST_REACH)
    circle = max(node.slot for node in (*sources, *destinations))
    found = []
    for node in more:
        nearest = sorted(fewer, key=lambda other, slot=node.slot: (other.slot - slot) % circle)  # type: ignore[misc]
        found += [Pair(node, other) if node.role == "source" else Pair(other, node) for other in nearest[:reach]]
    return sorted(found, key=lambda pair: (pair.slot, pair.destination.slot))


def _weight(pair: Pair) -> float:
    """What two relays were measured to carry, (MB/s)²: each relay's lanes are shared out by the rates of the others."""
    return (pair.source.measured_inter_region or 0.0) * (pair.destination.measured_inter_region or 0.0)


def entrants(nodes: Iterable[Node]) -> list[Node]:
    """READY relays that can carry data at once.

    A relay waits for the partner of its slot; where its slot was never filled on the other side, for anybody there.
    One that has joined goes on without its partner.
    """
    nodes = list(nodes)
    able = _newest(nodes, "READY", "JOINED")
    present, filled = _places(able), _places(nodes)
    come = [n for n in able if n.state == "JOINED" or opposite(n) in present or opposite(n) not in filled]
    sides = {node.role for node in come}
    return [node for node in come if node.state == "READY" and opposite(node)[0] in sides]


def singles(nodes: Iterable[Node]) -> list[Node]:
    """Live relays that have nobody left to work with, successors that are on their way counted in.

    That is the partner of their slot: one more on one side adds nothing to like relays. Where a slot was never filled
    on the other side, it is everybody there.
    """
    nodes = list(nodes)
    live = _newest(nodes, *LIVE_STATES)
    present, filled, sides = _places(live), _places(nodes), {node.role for node in live}
    return [
        node
        for node in live
        if opposite(node)[0] not in sides or (opposite(node) in filled and opposite(node) not in present)
    ]


def strength(nodes: Iterable[Node], *states: NodeState) -> int:
    """How many pairs' worth of relays are in one of `states`: like relays carry what the smaller side can."""
    found = _newest(nodes, *states)
    return min(sum(node.role == role for node in found) for role in ROLES)


def pairs(nodes: Iterable[Node], *states: NodeState) -> list[Pair]:
    """Pairs of one slot of which both relays, the newest of their slot, are in one of `states`; by slot."""
    found = _newest(nodes, *states)
    by_slot = {node.slot: node for node in found if node.role == "destination"}
    return [Pair(node, by_slot[node.slot]) for node in found if node.role == "source" and node.slot in by_slot]


def _newest(nodes: Iterable[Node], *states: NodeState) -> list[Node]:
    """The newest of each side and slot, where it is in one of `states`; by slot."""
    ordered = sorted(nodes, key=lambda node: (node.slot, node.role, node.generation))
    newest = [list(same)[-1] for _, same in groupby(ordered, key=lambda node: (node.slot, node.role))]
    return [node for node in newest if node.state in states]


def _places(nodes: Iterable[Node]) -> set[tuple[Role, int]]:
    return {(node.role, node.slot) for node in nodes}


def opposite(node: Node) -> tuple[Role, int]:
    """Side and slot of a relay's partner."""
    return ("destination" if node.role == "source" else "source"), node.slot


def in_other_zone(transfer: AcceptedTransfer, node: Node) -> bool:
    """Whether what goes between the relay and its end is charged as traffic between zones."""
    return node.availability_zone != transfer.end(node.role).availability_zone
