"""Replacement of a relay that is lost, will be interrupted or is slow, where the model says that it pays.

Every call may come twice, at once or after a Lambda that died half-way: what the node table says decides who goes on.
"""

from dataclasses import dataclass
from typing import Literal

from lambdas.adapters.world import World
from lambdas.core.errors import FailTransfer, ReplaceNode
from lambdas.core.fleet import node_life, pairing, relay_node
from lambdas.core.fleet.answer import Answer
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS, LIVE_STATES, Node
from lambdas.core.fleet.replacement import why_not_replaced
from lambdas.core.fleet.topology import route_at, routes_of
from lambdas.core.record.transfer_record import Estimated
from lambdas.operations import logs
from lambdas.operations.fence import running
from lambdas.operations.fleet import hand, relay_end, relay_start
from lambdas.operations.fleet.remaining import rest_without
from lambdas.operations.spending import metering

# Whoever has taken a relay out asks for its successor at once and waits for it; longer than most need to boot means
# that this Lambda has died.
RESUME_SECONDS = 120.0
# The sender gives lanes that are to leave 20 s for their last acknowledgements, and looks twice a second.
DRAIN_SECONDS = 21.0


@dataclass(frozen=True)
class Failing:
    """Why a relay has to go; where it is slow, the MB/s that it carries and those that it should."""

    how: Literal["lost", "warned", "slow"]
    reason: str
    rate: float = 0.0
    expected: float | None = None


def replace(world: World, node: Node, failing: Failing) -> Answer:
    """Take the relay out, bring in its successor; what was done, in a word.

    A lost relay is out before its successor is asked for, one that is warned drains meanwhile, and one that is slow
    serves until its successor does.
    """
    record = running(world, node.transfer_id)
    if record is None:
        return Answer.OVER  # its end is the teardown's doing
    if node.settled and node.state == "DRAINING" and failing.how == "lost":
        _lose(world, record, node, node.reason or failing.reason)  # whoever drained it may have died
    if node.settled or not _is_mine(world, record, node, failing):
        return Answer.KNOWN
    if node.joined_at is None:
        _lose(world, record, node, failing.reason)
        _release_partners(world, record, node)
        return Answer.REMOVED
    began = world.clock.monotonic()
    refusal = _bring_successor(world, record, node, failing)
    if refusal is not None:
        _release_successor(world, record, node)
    if failing.how == "slow":
        if refusal is not None:
            return Answer.KEPT
        began = world.clock.monotonic()
        relay_end.drain(world, node, failing.reason)
    _tell(world, record, node, failing, refusal)
    if failing.how != "lost":
        world.clock.sleep(max(began + DRAIN_SECONDS - world.clock.monotonic(), 0))
        _lose(world, record, node, failing.reason)
    if refusal is not None:
        _release_partners(world, record, node)
    return Answer.REPLACED if refusal is None else Answer.REMOVED


def _is_mine(world: World, record: Estimated, node: Node, failing: Failing) -> bool:
    """Return whether nobody else is at work on it; takes it out of the membership unless it is only slow."""
    if failing.how == "slow":
        first = node.state == "JOINED"
    elif failing.how == "warned" and node.state in ("READY", "JOINED"):
        first = relay_end.drain(world, node, failing.reason)
    else:
        # One that was warned ends as it was told it would.
        warned = node.reason if node.state == "DRAINING" else None
        first = _lose(world, record, node, warned or failing.reason)
    successor = relay_node.successor_of(world.nodes.of(node.transfer_id), node)
    now = world.clock.now()
    if successor is not None and successor.state in LIVE_STATES:
        return now - successor.requested_at > RESUME_SECONDS
    if successor is not None and failing.how == "slow":
        return False  # its successor did not come; slow is better than nothing
    return first or (failing.how == "lost" and node.ended_at is not None and now - node.ended_at > RESUME_SECONDS)


def _lose(world: World, record: Estimated, node: Node, reason: str) -> bool:
    """As `relay_end.lose`; its log may say why."""

    def keep_log() -> None:
        logs.keep_of_relays(world, record.transfer, [node], logs.SECONDS_OF_LOST)

    return relay_end.lose(world, node, reason, keep_log)


def _bring_successor(world: World, record: Estimated, node: Node, failing: Failing) -> str | None:
    """Why there is none, in words; None when it has joined."""
    nodes = world.nodes.of(node.transfer_id)
    successor = relay_node.successor_of(nodes, node)
    if successor is None or successor.state not in LIVE_STATES:
        generation = (successor or node).generation
        if why := _why_not(world, record, node, failing, nodes, generation):
            return why
        try:
            hand.lease_successor(world, record, node, generation + 1)
        except (ReplaceNode, FailTransfer) as error:
            return f"{type(error).__name__}: {error}"
    nodes = relay_start.await_ready(world, record, join_at_once=True, seconds=JOIN_TIMEOUT_SECONDS)
    successor = relay_node.successor_of(nodes, node)
    if successor is None or successor.state == "JOINED":
        return None
    if failing.how != "slow" and relay_node.took_over(nodes, node):
        return None  # what came of it since is its own replacement's matter
    return f"{successor.node_id} did not join: {successor.reason or 'it has no partner'}"


def _why_not(
    world: World, record: Estimated, node: Node, failing: Failing, nodes: list[Node], generation: int
) -> str | None:
    rest = rest_without(world, record, node, failing.rate, failing.expected)
    first = [n for n in nodes if n.generation == 0 and n.state != "REJECTED"]
    made = sum(n.generation > 0 for n in nodes)
    if metering.affordable(world, record, 1) < 1:
        return "what is left of the budget does not pay for another relay"
    cheapest = record.transfer.request.objective.minimise == "cost"
    return why_not_replaced(rest, generation, made, len(first), cheapest=cheapest)


def _tell(world: World, record: Estimated, node: Node, failing: Failing, refusal: str | None) -> None:
    """Write how it ended into the node, and put it on the bus for people."""
    nodes = world.nodes.of(node.transfer_id)
    successor = relay_node.took_over(nodes, node)
    about = {"transferId": node.transfer_id, "nodeId": node.node_id, "cause": failing.reason[:1000]}
    if refusal is None and successor is not None:
        world.nodes.change(node, node_life.succeed(successor.node_id))
        world.events.put("Relay Replaced", {**about, "successor": successor.node_id})
        return
    world.nodes.change(node, node_life.stay_alone(refusal or ""))
    left = pairing.strength(routes_of(record.transfer), nodes, "JOINED")
    world.events.put("Transfer Degraded", {**about, "reason": (refusal or "")[:1000], "pairs": left})


def _release_successor(world: World, record: Estimated, node: Node) -> None:
    successor = relay_node.successor_of(world.nodes.of(node.transfer_id), node)
    if successor is not None:
        relay_end.release(world, record.transfer, [successor], f"it could not take over from {node.node_id}")


def _release_partners(world: World, record: Estimated, node: Node) -> None:
    """One that has nobody left to work with adds nothing and costs money."""
    singles = pairing.singles(route_at(record.transfer, node.stage), world.nodes.of(node.transfer_id))
    partners = [other for other in singles if other.slot == node.slot]
    relay_end.release(world, record.transfer, partners, f"{node.node_id} was lost and has no successor")
