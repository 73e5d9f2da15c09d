"""One look at a region's pool: nodes as EC2 and they themselves show them, leases, and how many nodes there should be.

Every step may be the last of this run: the next look finds what is there and goes on.
"""

from collections.abc import Mapping

from lambdas.adapters.records import Instance
from lambdas.adapters.world import World
from lambdas.core.documents import Document
from lambdas.core.fleet.relay_node import ENDED_INSTANCE_STATES, LIVE_STATES
from lambdas.core.places.place import Place
from lambdas.core.pool import pool_life
from lambdas.core.pool.pool_node import LIVE, Lease, PoolNode
from lambdas.core.pool.size import resized
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fleet.providers import launched
from lambdas.operations.fleet.providers.pool import LEASE_SECONDS, end_lease
from lambdas.operations.pool import accounting, queueing, sharing, starting

# Longer than the function may run: a look that died keeps others waiting for so long.
LOOK_SECONDS = 150.0
# In one run of the function, each of which may wait some seconds for nodes.
MOST_LOOKS = 4
# EC2 may not show an instance for some seconds after RunInstances has named it.
UNSEEN_SECONDS = 60.0
# Times of nodes and functions agree within this.
CLOCK_SECONDS = 5.0
# A node says each ten seconds that it lives.
SILENT_SECONDS = 60.0
# A node goes on without a look for so long; then it ends with its last lease.
KEPT_SECONDS = 300.0
# Between a lease and the relay that stands for it lie two writes.
YOUNG_SECONDS = 60.0
# A node that has ended is shown for so long.
SHOWN_SECONDS = 3600.0


class Kept(Document):
    """What one look did, and how many nodes there are."""

    nodes: int
    wanted: int
    started: int
    ended: int
    leases_ended: int
    limits: int


def keep(world: World, region: str) -> Kept | None:
    """One look, None while another one goes on: two could launch more than there may be. That one looks once more.

    Raises what EC2 or the table refuse.
    """
    now = world.clock.now()
    until = now + LOOK_SECONDS
    if not world.pool.begin_look(region, now, until):
        return None
    try:
        kept = _kept(world, region)
        for _ in range(MOST_LOOKS - 1):
            # What a look was called for that was turned away would else wait for the next minute.
            if not world.pool.is_called_again(region, until):
                break
            kept = _kept(world, region)
        return kept
    finally:
        world.pool.end_look(region, until)


def _kept(world: World, region: str) -> Kept:
    # Read before the items: what is launched in between is adopted by the next look.
    instances = {one.instance_id: one for one in world.at(Place(region)).compute.of_pool()}
    nodes = world.pool.nodes(region)
    nodes += _adopted(world, region, nodes, instances)
    shown = {**_described(world, region, nodes, instances), **instances}
    known = [seen for node in nodes if (seen := _seen(world, node, shown.get(node.instance_id)))]
    accounting.count(world, region)
    leases_ended = sum(_settled(world, node) for node in known if node.state in LIVE)
    known = world.pool.nodes(region)
    settings, now = world.env.pool_regions[region], world.clock.now()
    size = resized(
        known, _active(world, region), settings, starting.version(world, region), world.pool.needs(region), now
    )
    by_id = {node.node_id: node for node in known}
    for node_id in size.drain:
        world.pool.change(by_id[node_id], pool_life.drain("the pool needs fewer nodes, or newer ones", now))
    for node_id in size.end:
        _end(world, by_id[node_id])
    for node_id in size.give_up:
        reason = "it did not say within its time that it takes leases"
        _lose(world, by_id[node_id], pool_life.lose(reason, now, "fail-to-start"))
    started = starting.start(world, region, known, size.start)
    world.pool.put_needs(region, size.needs)
    _forget(world, known, instances)
    queueing.forget_ended(world)
    limits = sharing.share(world, region)
    known = world.pool.nodes(region)
    accounting.tell_price(world, region, known)
    live = sum(node.state in LIVE for node in known)
    ended = len(size.end) + len(size.give_up)
    return Kept(nodes=live, wanted=size.wanted, started=started, ended=ended, leases_ended=leases_ended, limits=limits)


def _described(
    world: World, region: str, nodes: list[PoolNode], instances: Mapping[str, Instance]
) -> dict[str, Instance]:
    """Machines that are not among those that live: EC2 says for an hour that one has ended."""
    missing = [node.instance_id for node in nodes if node.state in LIVE and node.instance_id not in instances]
    shown = world.at(Place(region)).compute.describe(missing) if missing else []
    return {one.instance_id: one for one in shown}


def _adopted(world: World, region: str, nodes: list[PoolNode], instances: Mapping[str, Instance]) -> list[PoolNode]:
    """Nodes for machines of the pool that no item names: whoever launched them died before it wrote that."""
    ids = {node.instance_id for node in nodes}
    found = [starting.node_of(world, region, one) for one in instances.values() if one.instance_id not in ids]
    return [node for node in found if world.pool.put(node)]


def _seen(world: World, node: PoolNode, instance: Instance | None) -> PoolNode | None:
    """The node after what its machine shows, and after what it says itself; None where it has ended."""
    now = world.clock.now()
    if node.state not in LIVE:
        return None
    if instance is None and now - node.requested_at <= UNSEEN_SECONDS:
        return node
    if instance is None or instance.state in ENDED_INSTANCE_STATES:
        _lose(world, node, pool_life.lose("its machine has ended", now))
        return None
    if node.running_at is None and instance.state == "running":
        booted = pool_life.boot(now, instance.private_address, instance.public_address)
        node = world.pool.change(node, booted) or node
    _, said_at = world.pool.standing(node)
    if said_at is not None and said_at > now + CLOCK_SECONDS:
        said_at = None  # by no clock that is right: it would be taken for alive for ever
    if node.state == "STARTING" and said_at is not None and node.running_at is not None:
        return world.pool.change(node, pool_life.get_ready(now)) or node
    if node.state != "STARTING" and now - (said_at or node.requested_at) > SILENT_SECONDS:
        _lose(world, node, pool_life.lose(f"it has said nothing for {SILENT_SECONDS:.0f} s", now))
        return None
    return node


def _settled(world: World, node: PoolNode) -> int:
    """Keep the node and its leases alive, and end those of transfers that are over; how many ended."""
    now, ended = world.clock.now(), 0
    world.pool.keep_alive(node, now + KEPT_SECONDS)
    leases, _ = world.pool.standing(node)
    for lease in leases:
        if not lease.is_live and not lease.holds_port:
            world.pool.forget_lease(node, lease)
        elif lease.is_live and now - lease.given_at > YOUNG_SECONDS and _is_over(world, lease):
            current = next((one for one in world.pool.nodes(node.region) if one.node_id == node.node_id), None)
            ended += current is not None and end_lease(world, current, lease)
        elif lease.is_live:
            world.pool.renew(node, lease, now + LEASE_SECONDS)
    return ended


def _is_over(world: World, lease: Lease) -> bool:
    """Nobody uses it: its transfer is over, its relay has ended or was never written, or its node has stopped it.

    A node stops what nobody has renewed for too long, and does not start it again.
    """
    if not lease.holds_port:
        return True
    record = world.transfers.get(lease.transfer_id)
    if record is None or record.closed:
        return True
    relays = {relay.node_id: relay for relay in world.nodes.of(lease.transfer_id)}
    relay = relays.get(lease.relay_id)
    return relay is None or relay.state not in LIVE_STATES


def _active(world: World, region: str) -> int:
    """Transfers that move, and may have leases in this region."""
    records = [record for record in world.transfers.active() if not record.fenced]
    may = [record.transfer for record in records if record.transfer.request.relays.pool != "none"]
    may = [transfer for transfer in may if not _awaits_price(world, transfer)]
    return sum(region in (transfer.source_region, transfer.destination_region) for transfer in may)


def _awaits_price(world: World, transfer: AcceptedTransfer) -> bool:
    """Whoever waits for a pool that is cheap is no reason for a larger one. The index does not hold that."""
    if transfer.request.relays.most_usd_per_gb is None:
        return False
    record = world.transfers.get(transfer.transfer_id)
    return record is not None and record.is_of(transfer) and record.awaits_price


def _end(world: World, node: PoolNode) -> None:
    """A node that has drained; one that keeps leases for too long is given up with them."""
    now = world.clock.now()
    if node.leases:
        _lose(world, node, pool_life.lose("its leases did not end in time while it drained", now))
    elif world.pool.change(node, pool_life.end(now)):
        launched.terminate(world, node.region, [node.instance_id])


def _lose(world: World, node: PoolNode, change: pool_life.Change) -> None:
    """End a node, its leases, and its machine, which may have no right to say that it has ended."""
    if world.pool.change(node, change) is None:
        return
    leases, _ = world.pool.standing(node)
    for lease in leases:
        if lease.is_live:
            world.pool.take_back(node, None, lease, world.clock.now())
    launched.terminate(world, node.region, [node.instance_id])
    world.metrics.put({"PoolNodesLost": 1})


def _forget(world: World, nodes: list[PoolNode], instances: Mapping[str, Instance]) -> None:
    """Remove what has ended long ago; a machine that is still there is terminated again."""
    now = world.clock.now()
    for node in nodes:
        if node.state in LIVE:
            continue
        if node.instance_id in instances:
            launched.terminate(world, node.region, [node.instance_id])
        elif now - (node.ended_at or now) > SHOWN_SECONDS:
            world.pool.forget(node)
