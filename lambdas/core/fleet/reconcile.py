"""What is to be done so that the fleet that is there becomes the one that is wished: pure, and asked again at will.

Spawning, joining, growing, planning again and giving back change the wish. The hand (`operations.fleet.hand`) carries
the actions out, and nobody else launches or ends a relay. An action whose relay has changed meanwhile does nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lambdas.core.fleet import node_life, pairing
from lambdas.core.fleet.providers import ProviderName
from lambdas.core.fleet.relay_node import LIVE_STATES, Node
from lambdas.core.fleet.topology import Route


@dataclass(frozen=True)
class Wish:
    """What a fleet is to become; what a wish does not name stays as it is.

    `slots`: of each stage, those that a relay is to fill. `leaving`: by node id, why a relay goes; it drains first.
    `joins`: whether those that are ready carry data at once; where not, a pre-test comes before. `unused`: why one goes
    that has not joined and has nobody left to work with; None where these may stay.
    """

    slots: Mapping[int, Sequence[int]] = field(default_factory=dict)
    leaving: Mapping[str, str] = field(default_factory=dict)
    joins: bool = False
    unused: str | None = None


@dataclass(frozen=True)
class Fleet:
    """What is there: every route that could have relays, the node table, the machines that the user lends to a stage.

    `pooled`: relays of a stage that the pool can give now. `only_pooled`: none is launched. `busy`: ids of relays that
    lanes still lead through.
    """

    routes: Sequence[Route]
    nodes: Sequence[Node]
    lent: Mapping[int, int] = field(default_factory=dict)
    busy: Collection[str] = ()
    pooled: Mapping[int, int] = field(default_factory=dict)
    only_pooled: bool = False


@dataclass(frozen=True)
class Lease:
    """Machines of one provider for slots of a stage; `generation`: 0 for the first of a slot, +1 for a successor."""

    provider: ProviderName
    stage: int
    slots: tuple[int, ...]
    generation: int = 0


@dataclass(frozen=True)
class NodeChange:
    """A change of one relay, with all that follows from it."""

    node: Node
    change: node_life.Change


Action = Lease | NodeChange


def reconcile(wish: Wish, fleet: Fleet, now: float) -> list[Action]:
    """The actions that are due; `now` in Unix time, s. None are left once the fleet is as wished."""
    changes = [*_joins(wish, fleet, now), *_departures(wish, fleet, now), *_unused(wish, fleet, now)]
    return [*_leases(wish, fleet), *changes]


def next_slots(route: Route, nodes: Iterable[Node], counts: Mapping[int, int]) -> dict[int, list[int]]:
    """So many slots of each stage of a route that no relay ever had.

    Partners share a slot, so all stages of a route number their new relays alike.
    """
    taken = max((node.slot for node in route.own(nodes)), default=0)
    return {stage: list(range(taken + 1, taken + count + 1)) for stage, count in counts.items() if count > 0}


def surplus(nodes: Iterable[Node], changes: Mapping[int, int]) -> list[Node]:
    """The relays that are too many where a stage is to have fewer (-1: one fewer): those of its highest slots."""
    found: list[Node] = []
    for stage, count in changes.items():
        serving = sorted((n for n in nodes if n.stage == stage and n.state == "JOINED"), key=lambda n: n.slot)
        found += serving[count:] if count < 0 else []
    return found


def _leases(wish: Wish, fleet: Fleet) -> list[Lease]:
    # A slot whose relay has gone is a replacement's matter.
    filled = {(node.stage, node.slot) for node in fleet.nodes if node.generation == 0}
    found = []
    for stage, slots in wish.slots.items():
        missing = [slot for slot in slots if (stage, slot) not in filled]
        lent = tuple(slot for slot in missing if slot <= fleet.lent.get(stage, 0))
        others = tuple(slot for slot in missing if slot not in lent)
        pooled, launched = others[: fleet.pooled.get(stage, 0)], others[fleet.pooled.get(stage, 0) :]
        found += [Lease("lent", stage, lent)] if lent else []
        found += [Lease("pool", stage, pooled)] if pooled else []
        found += [Lease("launched", stage, launched)] if launched and not fleet.only_pooled else []
    return found


def _joins(wish: Wish, fleet: Fleet, now: float) -> list[NodeChange]:
    if not wish.joins:
        return []
    ready = (node for route in fleet.routes for node in pairing.entrants(route, fleet.nodes))
    return [NodeChange(node, node_life.join(now)) for node in ready if node.node_id not in wish.leaving]


def _departures(wish: Wish, fleet: Fleet, now: float) -> list[NodeChange]:
    found = []
    for node in fleet.nodes:
        why = wish.leaving.get(node.node_id)
        if why is None or node.state not in LIVE_STATES:
            continue
        if node.state in ("READY", "JOINED"):
            # Nobody is to bring a successor, even if it fails while it drains.
            found += [NodeChange(node, node_life.drain(why)), NodeChange(node, node_life.stay_alone(why))]
        elif node.node_id not in fleet.busy:
            found.append(NodeChange(node, node_life.release(why, now)))
    return found


def _unused(wish: Wish, fleet: Fleet, now: float) -> list[NodeChange]:
    if wish.unused is None:
        return []
    change = node_life.lose(wish.unused, now, "discard")
    alone = (node for route in fleet.routes for node in pairing.singles(route, fleet.nodes))
    return [NodeChange(node, change) for node in alone if node.state in change.rule.sources]
