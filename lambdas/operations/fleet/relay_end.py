"""The ends of relays, by why they end: each is a change that the hand carries out, and some wait for lanes first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from lambdas.adapters.throttling import will_be_retried
from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.estimate.budget import RELEASE_SECONDS
from lambdas.core.fleet import node_life
from lambdas.core.fleet.reconcile import Fleet, NodeChange, Wish, reconcile
from lambdas.core.fleet.relay_node import LIVE_STATES, Measurement, Node
from lambdas.core.fleet.topology import leads_through, route_at, routes_of
from lambdas.core.places.place import Place
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations import logs
from lambdas.operations.fleet import hand
from lambdas.operations.seats import reports


def drain(world: World, node: Node, reason: str) -> bool:
    """Take a relay out of the membership and leave it alive for what is in flight; False when somebody was first."""
    return bool(hand.move(world, node.transfer_id, [NodeChange(node, node_life.drain(reason))]))


def lose(world: World, node: Node, reason: str, before: Callable[[], object] = lambda: None) -> bool:
    """Mark a relay LOST, take its paths out and terminate what remains; False when somebody else was first.

    `before`: what is done once nobody uses it any more, and its instance is still there.
    """
    return bool(_lost(world, node, reason, "lose", before))


def _lost(
    world: World,
    node: Node,
    reason: str,
    name: Literal["lose", "fail-to-start"],
    before: Callable[[], object] = lambda: None,
) -> list[Node]:
    ended = hand.end(world, [NodeChange(node, node_life.lose(reason, world.clock.now(), name))], before)
    if ended:
        world.metrics.put({"RelaysLost": len(ended)})
    return ended


def release(world: World, transfer: AcceptedTransfer, nodes: list[Node], reason: str) -> None:
    """The same for relays that could have gone on: they are not counted as lost, and nobody is to replace them."""
    live = [node for node in nodes if node.state in LIVE_STATES]
    hand.release(world, transfer, [NodeChange(node, node_life.release(reason, world.clock.now())) for node in live])


def release_all(world: World, transfer: AcceptedTransfer, cause: str) -> None:
    """Release the whole fleet within `RELEASE_SECONDS`: lanes drain first, so that nothing is sent twice."""
    _drain(world, transfer, world.nodes.of(transfer.transfer_id), cause)
    end_all(world, transfer, cause)


def drain_and_release(world: World, transfer: AcceptedTransfer, nodes: list[Node], cause: str) -> None:
    """The same for some relays, while others go on; their rules go too, since a transfer may change often."""
    _drain(world, transfer, nodes, cause)
    _close(world, transfer, nodes)
    ids = {node.node_id for node in nodes}
    drained = [node for node in world.nodes.of(transfer.transfer_id) if node.node_id in ids]
    release(world, transfer, drained, cause)


def _close(world: World, transfer: AcceptedTransfer, nodes: list[Node]) -> None:
    """Revoke the rules that let drained relays in elsewhere. While they live, nobody else has their addresses."""
    addresses = {one for node in nodes if node.is_ours for one in (node.private_address, node.public_address)}
    routes = {route_at(transfer, node.stage) for node in nodes}
    for region in sorted({region for route in routes for region in route.regions}):
        groups = world.at(Place(region)).groups
        rules = [one for one in groups.rules() if one.transfer_id == transfer.transfer_id and one.address in addresses]
        groups.revoke(rules)


def _drain(world: World, transfer: AcceptedTransfer, nodes: list[Node], cause: str) -> None:
    """Until no lane leads through them, or the time is up."""
    wish = Wish(leaving={node.node_id: cause for node in nodes})
    deadline = world.clock.monotonic() + RELEASE_SECONDS - logs.MOST_SECONDS - world.env.poll_seconds
    while True:
        there, progress = world.nodes.of(transfer.transfer_id), reports.of_sender(world, transfer)
        busy = {node.node_id for node in there if has_lanes(progress, node)}
        due = reconcile(wish, Fleet(routes_of(transfer), there, busy=busy), world.clock.now())
        changes = [one for one in due if isinstance(one, NodeChange) and not one.change.rule.ends]
        if changes:
            hand.move(world, transfer.transfer_id, changes)
        if not busy & wish.leaving.keys() or world.clock.monotonic() >= deadline:
            return
        world.clock.sleep(world.env.poll_seconds)


def end_all(world: World, transfer: AcceptedTransfer, cause: str) -> None:
    """Release every relay that lives, whatever is on its way."""
    release(world, transfer, world.nodes.of(transfer.transfer_id), cause)


def has_lanes(progress: Progress | None, node: Node) -> bool:
    """Return whether the sender reports a lane through a relay."""
    lanes = progress.lanes if progress else []
    return any(leads_through(lane.path_id, node) for lane in lanes)


def fail_to_start(world: World, node: Node, reason: str) -> None:
    """The same for one that did not become ready.

    Two invocations may start one relay: where the other has made it READY, what this one failed at does not matter.
    """
    _lost(world, node, reason, "fail-to-start")


def reject(
    world: World,
    node: Node,
    measured: Measurement,
    hop: float | None = None,
    reason: str = "slower half of the pre-test",
) -> None:
    """Note what the pre-test measured of its path, and of the `hop` that it feeds, and terminate it."""
    rates = (measured.inter_region, measured.intra_region)
    hand.discard(world, [NodeChange(node, node_life.reject(*rates, reason, world.clock.now(), hop))], surely=False)


def release_singles(world: World, transfer: AcceptedTransfer, nodes: list[Node]) -> None:
    """Terminate relays whose partner will not come."""
    due = reconcile(Wish(unused="its partner was lost"), Fleet(routes_of(transfer), nodes), world.clock.now())
    hand.discard(world, [one for one in due if isinstance(one, NodeChange)])


@contextmanager
def unused_discarded(world: World, transfer_id: str) -> Iterator[None]:
    """A failure that is not retried terminates the relays that have not joined: nobody else would use them."""
    try:
        yield
    except Exception as error:
        if not will_be_retried(error):
            discard_unused(world, world.nodes.of(transfer_id), f"{type(error).__name__}: {error}")
        raise


def discard_unused(world: World, nodes: list[Node], reason: str) -> int:
    """Terminate those that have not joined; how many there were."""
    unused = [node for node in nodes if node.state in ("SPAWNED", "READY")]
    hand.discard(world, hand.unused(world, unused, reason))
    return len(unused)
