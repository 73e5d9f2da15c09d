"""The end of a relay, whoever ends it: its item says so, then it leaves the membership, then its instance goes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lambdas.adapters.throttling import will_be_retried
from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.estimate.budget import RELEASE_SECONDS
from lambdas.core.fleet import node_life, pairing
from lambdas.core.fleet.relay_node import LIVE_STATES, Measurement, Node
from lambdas.core.fleet.topology import leads_through, route_at, routes_of
from lambdas.core.places.place import Place
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations import logs
from lambdas.operations.fleet import membership
from lambdas.operations.fleet.providers.lent import give_back
from lambdas.operations.seats import reports

# For some seconds after RunInstances, EC2 may know neither an instance's id nor its state; a minute bounds the wait.
TERMINATE_SECONDS = 60.0


def drain(world: World, node: Node, reason: str) -> bool:
    """Take a relay out of the membership and leave it alive for what is in flight; False when somebody was first."""
    drained = world.nodes.change(node, node_life.drain(reason)) is not None
    if drained:
        membership.settle(world, node.transfer_id)
    return drained


def lose(world: World, node: Node, reason: str, before: Callable[[], object] = lambda: None) -> bool:
    """Mark a relay LOST, take its paths out and terminate what remains; False when somebody else was first.

    `before`: what is done once nobody uses it any more, and its instance is still there.
    """
    return _end(world, node, node_life.lose(reason, world.clock.now()), before)


def release(world: World, transfer: AcceptedTransfer, nodes: list[Node], reason: str) -> None:
    """The same for relays that could have gone on: they are not counted as lost, and nobody is to replace them.

    Their logs are kept first, as at the teardown.
    """
    live = [node for node in nodes if node.state in LIVE_STATES]
    logs.keep_of_relays(world, transfer, live)
    for node in live:
        _end(world, node, node_life.release(reason, world.clock.now()))


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
    for node in nodes:
        if drain(world, node, cause):
            # Nobody is to bring a successor, even if it fails meanwhile.
            world.nodes.change(node, node_life.stay_alone(cause))
    deadline = world.clock.monotonic() + RELEASE_SECONDS - logs.MOST_SECONDS - world.env.poll_seconds
    while _lanes_through(world, transfer, nodes) and world.clock.monotonic() < deadline:
        world.clock.sleep(world.env.poll_seconds)


def end_all(world: World, transfer: AcceptedTransfer, cause: str) -> None:
    """Release every relay that lives, whatever is on its way."""
    release(world, transfer, world.nodes.of(transfer.transfer_id), cause)


def _lanes_through(world: World, transfer: AcceptedTransfer, nodes: list[Node]) -> bool:
    progress = reports.of_sender(world, transfer)
    return any(has_lanes(progress, node) for node in nodes)


def has_lanes(progress: Progress | None, node: Node) -> bool:
    """Return whether the sender reports a lane through a relay."""
    lanes = progress.lanes if progress else []
    return any(leads_through(lane.path_id, node) for lane in lanes)


def fail_to_start(world: World, node: Node, reason: str) -> None:
    """The same for one that did not become ready.

    Two invocations may start one relay: where the other has made it READY, what this one failed at does not matter.
    """
    _end(world, node, node_life.lose(reason, world.clock.now(), "fail-to-start"))


def _end(world: World, node: Node, change: node_life.Change, before: Callable[[], object] = lambda: None) -> bool:
    if world.nodes.change(node, change) is None:
        return False
    if change.name != "release":
        world.metrics.put({"RelaysLost": 1})
    membership.settle(world, node.transfer_id)
    before()
    _terminate(world, node)
    return True


def reject(
    world: World,
    node: Node,
    measured: Measurement,
    hop: float | None = None,
    reason: str = "slower half of the pre-test",
) -> None:
    """Note what the pre-test measured of its path, and of the `hop` that it feeds, and terminate it."""
    rates = (measured.inter_region, measured.intra_region)
    if world.nodes.change(node, node_life.reject(*rates, reason, world.clock.now(), hop)):
        _terminate(world, node)


def _terminate(world: World, node: Node) -> None:
    for ours in give_back(world, [node]):
        world.at(ours.place).compute.terminate([ours.instance_id])


def release_singles(world: World, transfer: AcceptedTransfer, nodes: list[Node]) -> None:
    """Terminate relays whose partner will not come."""
    alone = [node for route in routes_of(transfer) for node in pairing.singles(route, nodes)]
    discard_unused(world, alone, "its partner was lost")


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
    discard(world, unused, reason)
    return len(unused)


def discard(world: World, nodes: list[Node], reason: str) -> None:
    """Terminate nodes that will not be used; one that has joined meanwhile is."""
    lost = node_life.lose(reason, world.clock.now(), "discard")
    changed = [world.nodes.change(node, lost) for node in nodes]
    terminate_until_gone(world, [node for node in changed if node])


def terminate_until_gone(world: World, nodes: list[Node]) -> None:
    """Terminate until EC2 shows them all gone: an id that it does not know yet is not terminated."""
    nodes = give_back(world, nodes)
    deadline = world.clock.monotonic() + TERMINATE_SECONDS
    left = {region: {n.instance_id for n in nodes if n.region == region} for region in {n.region for n in nodes}}
    while any(left.values()) and world.clock.monotonic() < deadline:
        for region, ids in left.items():
            world.at(Place(region)).compute.terminate(ids)
            ids -= {instance.instance_id for instance in world.at(Place(region)).compute.describe(ids) if instance.gone}
        if any(left.values()):
            world.clock.sleep(world.env.poll_seconds)
