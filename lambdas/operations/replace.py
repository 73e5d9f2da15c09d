"""Replacement of a lost relay, if the rest of the transfer lasts longer than a new one needs."""

from lambdas.adapters.records import TransferRecord
from lambdas.adapters.world import World
from lambdas.core import pairing
from lambdas.core.fleet import JOIN_TIMEOUT_SECONDS, LIVE_STATES, Node, node_id
from lambdas.core.limits import SPAWN_SECONDS
from lambdas.core.policy import worth_replacing
from lambdas.operations import metering, relays
from lambdas.operations.launch import launch_side


def replace(world: World, node: Node, reason: str) -> str:
    """Take the relay out, bring in its successor; what was done, in a word."""
    record = world.transfers.get(node.transfer_id)
    if record is None or not record.running:
        return "over"  # its end is the teardown's doing
    if not relays.lose(world, node, reason):
        return "known"
    if node.state != "JOINED" or not _worth_it(world, record, node):
        _release_slot(world, node)
        return "removed"
    try:
        done = _bring_successor(world, record, node)
    except Exception:
        _release_slot(world, node)  # the event is not tried again: the relay is known to be lost
        raise
    if not done:
        _release_slot(world, node)
    return "replaced" if done else "removed"


def _worth_it(world: World, record: TransferRecord, node: Node) -> bool:
    progress = world.agents.progress(node.transfer_id, "sender")
    sent = progress.bytes if progress else 0
    lanes = progress.lanes if progress else []
    others = sum(lane.rate for lane in lanes if not pairing.leads_through(lane.path_id, node))
    remaining = (record.plan.bytes if record.plan else 0) - sent
    worth = worth_replacing(remaining, others, _spawn_seconds(record, node), node.generation)
    return worth and metering.affordable(world, record, 1) == 1


def _spawn_seconds(record: TransferRecord, node: Node) -> float:
    """What the lost relay itself needed is the best forecast for its successor."""
    if node.ready_at is not None:
        return node.ready_at - node.requested_at
    return record.estimate.figures.spawn.value if record.estimate else SPAWN_SECONDS


def _bring_successor(world: World, record: TransferRecord, node: Node) -> bool:
    """Whether it has joined."""
    if record.paths is None:
        return False
    types = [node.instance_type, *(record.transfer.request.relays.instance_types or world.env.instance_types)]
    launch_side(world, record, record.paths, node.role, [node.slot], node.generation + 1, list(dict.fromkeys(types)))
    nodes = relays.await_ready(world, record, record.paths, join_at_once=True, seconds=JOIN_TIMEOUT_SECONDS)
    wanted = node_id(node.role, node.slot, node.generation + 1)
    return any(other.node_id == wanted and other.state == "JOINED" for other in nodes)


def _release_slot(world: World, node: Node) -> None:
    """A successor that will not join, and a partner that has nobody left, add nothing and cost money."""
    nodes = world.nodes.of(node.transfer_id)
    successors = [n for n in nodes if (n.role, n.slot) == (node.role, node.slot) and n.state in LIVE_STATES]
    for successor in successors:
        relays.lose(world, successor, f"it could not take over from {node.node_id}")
    for other in pairing.singles(world.nodes.of(node.transfer_id)):
        if other.slot == node.slot:
            relays.lose(world, other, f"{node.node_id} was lost and has no successor")
