"""Leases on nodes that stand before anybody asks: placed, told what to do, and given back.

A lease is counted in its node's item under what was read there, so of two transfers that want the last one, one is
refused and looks again.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from lambdas.adapters.world import World
from lambdas.core.errors import TransferFenced, WriteConflict
from lambdas.core.fleet import node_life
from lambdas.core.fleet.membership import RELAY_PORT
from lambdas.core.fleet.reconcile import Lease as Wanted
from lambdas.core.fleet.relay_node import LIVE_STATES, Node
from lambdas.core.fleet.topology import Stage, route_of, routes_of, stage_at
from lambdas.core.pool import pool_life
from lambdas.core.pool.lease_share import share_of
from lambdas.core.pool.placement import Host, place
from lambdas.core.pool.pool_node import OPEN, PORTS, Lease, LeaseLimit, PoolNode, free_port
from lambdas.core.pool.refresh import LIMIT_SECONDS
from lambdas.core.pool.tenant import OPERATOR
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import serving

# A lease that nobody renews ends: three looks of the pool may be missing.
LEASE_SECONDS = 240.0
# Others may take a lease between a look and a write, so often in a row at most.
_ATTEMPTS = 16


def room(world: World, transfer: AcceptedTransfer, stages: Iterable[int]) -> dict[int, int]:
    """How many leases of each stage could be given to a transfer now: one on each node.

    Those who wait in the queue have theirs before whoever has none yet and has not asked there.
    """
    by_stage = {at: stage_at(transfer, at) for at in stages}
    is_open = {at: not _is_closed(world, transfer, stage) for at, stage in by_stage.items()}
    if not any(is_open.values()):
        return dict.fromkeys(by_stage, 0)
    own = _own_machines(world, transfer)
    kept = Counter() if own else _kept(world, transfer)
    return {
        at: max(len(_open(world, stage, own)) - kept[stage.region], 0) if is_open[at] else 0
        for at, stage in by_stage.items()
    }


def _kept(world: World, transfer: AcceptedTransfer) -> Counter[str]:
    """Leases by region for those who wait: one each. None of them is kept from a transfer whose turn it was."""
    now = world.clock.now()
    places = [place for place in world.pool_accounts.queue() if place.until > now]
    if any(place.transfer_id == transfer.transfer_id and place.serves_since is not None for place in places):
        return Counter()
    return Counter(
        region
        for place in places
        if place.serves_since is None and place.transfer_id != transfer.transfer_id
        for region in place.regions
    )


def pairs(world: World, transfer: AcceptedTransfer) -> int:
    """How many pairs the pool could give the transfer at once, if nobody takes a lease meanwhile."""
    stages = route_of(transfer).stages
    if any(_is_closed(world, transfer, stage) for stage in stages):
        return 0
    return min(len(_open(world, stage, set())) for stage in stages)


def regions(world: World, transfer: AcceptedTransfer) -> list[str]:
    """Where the transfer may have leases, whether or not there are any now: the price is of these."""
    stages = [stage for route in routes_of(transfer) for stage in route.stages]
    return sorted({stage.region for stage in stages if not _is_closed(world, transfer, stage)})


def lease(world: World, record: Estimated, wanted: Wanted) -> list[Node]:
    """Nodes for the slots, in order, as far as the pool has leases left; a slot that an earlier call has filled stays.

    Raises TransferFenced, with what was leased here given back.
    """
    serving(world, record.transfer, Estimated)
    transfer, stage = record.transfer, stage_at(record.transfer, wanted.stage)
    there = {node.node_id: node for node in world.nodes.of(transfer.transfer_id)}
    without = _own_machines(world, transfer)
    nodes = []
    for slot in wanted.slots:
        known = there.get(stage.node_id(slot, wanted.generation))
        if known is not None:
            nodes += [known] if known.state in LIVE_STATES else []
            continue
        node = _leased(world, transfer, stage, (slot, wanted.generation), without)
        if node is None:
            break
        without.add(node.instance_id)
        nodes.append(node)
    try:
        serving(world, transfer, Estimated)
    except TransferFenced:
        lost = node_life.lose("the transfer is being torn down", world.clock.now(), "discard")
        take_back(world, [node for node in nodes if world.nodes.change(node, lost)])
        raise
    if nodes:
        # The next minute's look would divide the pool as well.
        world.events.tell_pool(transfer.transfer_id)
    return nodes


def _leased(
    world: World, transfer: AcceptedTransfer, stage: Stage, place_of: tuple[int, int], without: set[str]
) -> Node | None:
    slot, generation = place_of
    name = transfer.transfer_id
    settings = world.env.pool_regions[stage.region]
    passed = set(without)
    for _ in range(_ATTEMPTS):
        nodes = {node.node_id: node for node in _open(world, stage, passed)}
        hosts = [
            Host(one.node_id, one.zone, one.capacity_mb_s, one.leases, float(one.leases)) for one in nodes.values()
        ]
        chosen = place(0.0, 1, stage.zone, hosts, settings.leases_per_node)
        if not chosen:
            return None
        node = nodes[chosen[0]]
        leases, _ = world.pool.standing(node)
        port = free_port(frozenset(one.port for one in leases if one.holds_port))
        change = pool_life.give(node, settings.leases_per_node)
        # Of an earlier run of the transfer, which the node has yet to stop: a node runs one daemon of a transfer.
        still_runs = any(one.transfer_id == name and one.holds_port for one in leases)
        if port is None or change is None or still_runs:
            passed.add(node.instance_id)
            continue
        relay = _relay(world, transfer, stage, (slot, generation), (node, port))
        if world.pool.give(node, change, _lease(world, transfer, relay, (node, port), leases)):
            world.nodes.put(relay)
            return relay
    return None


def _lease(
    world: World, transfer: AcceptedTransfer, relay: Node, on: tuple[PoolNode, int], others: Sequence[Lease]
) -> Lease:
    (node, port), now = on, world.clock.now()
    # What nobody on the node may still forward; the next division, which the event brings, gives it its share.
    shares = world.pool.shares(node.region)
    held = sum(max(share_of(one, shares).told.held, one.limit.mb_s) for one in others if one.holds_port)
    limit = LeaseLimit(number=1, mb_s=max(node.capacity_mb_s - held, 0.0), until=now + LIMIT_SECONDS)
    return Lease(
        transfer_id=relay.transfer_id,
        node_id=node.node_id,
        relay_id=relay.node_id,
        tenant=transfer.tenant or OPERATOR,
        port=port,
        weight=float(transfer.request.relays.weight or 1),
        limit=limit,
        until=now + LEASE_SECONDS,
        epoch=node.epoch + 1,
        given_at=now,
    )


def _relay(
    world: World, transfer: AcceptedTransfer, stage: Stage, place_of: tuple[int, int], on: tuple[PoolNode, int]
) -> Node:
    (slot, generation), (node, port) = place_of, on
    return Node(
        transfer_id=transfer.transfer_id,
        node_id=stage.node_id(slot, generation),
        stage=stage.index,
        stage_name=stage.name,
        slot=slot,
        generation=generation,
        state="SPAWNED",
        instance_id=node.instance_id,
        instance_type=node.instance_type,
        region=node.region,
        availability_zone=node.zone,
        market=node.market,
        provider="pool",
        private_address=node.private_address or "",
        public_address=node.public_address,
        port=port,
        requested_at=world.clock.now(),
    )


def _is_closed(world: World, transfer: AcceptedTransfer, stage: Stage) -> bool:
    """Nothing is measured on it, and what goes to a bucket has relays of its own."""
    if stage.region not in world.env.pool_regions or not transfer.errand.has_receivers or transfer.on_one_machine:
        return True
    return transfer.request.relays.pool == "none"


def _own_machines(world: World, transfer: AcceptedTransfer) -> set[str]:
    """Machines that the transfer has, or had, a lease on: one each, so that a node's end costs one relay of it."""
    return {node.instance_id for node in world.nodes.of(transfer.transfer_id) if node.provider == "pool"}


def _open(world: World, stage: Stage, without: set[str]) -> list[PoolNode]:
    """Nodes of a stage's VPC that have a lease to give."""
    most = world.env.pool_regions[stage.region].leases_per_node
    return [
        node
        for node in world.pool.nodes(stage.region)
        if node.state in OPEN
        and node.leases < most
        and node.vpc_id == stage.vpc_id
        and node.private_address
        and node.instance_id not in without
    ]


def take_back(world: World, relays: Iterable[Node]) -> int:
    """End the leases of these relays, whoever has ended some of them before; how many were ended here."""
    return sum(_taken_back(world, relay) for relay in relays if relay.provider == "pool")


def _taken_back(world: World, relay: Node) -> bool:
    for _ in range(_ATTEMPTS):
        held = world.pool.lease(relay)
        if held is None or not held.is_live:
            return False
        node = next((one for one in world.pool.nodes(relay.region) if one.node_id == held.node_id), None)
        if node is None or end_lease(world, node, held):
            return node is not None
    raise WriteConflict(f"the node of {relay.node_id} changed {_ATTEMPTS} times while its lease was taken back")


def end_lease(world: World, node: PoolNode, held: Lease) -> bool:
    """End one lease, and count it out of its node; False where either has changed since it was read."""
    now = world.clock.now()
    return world.pool.take_back(node, pool_life.take_back(node, now), held, now)


def ways_of(world: World, transfers: Sequence[AcceptedTransfer]) -> set[tuple[str, int]]:
    """Address and port of rules that transfers rely on for their leases: the pool's machines outlive each of them."""
    if not world.env.pool_regions:
        return set()
    found = set()
    for transfer in transfers:
        relays = [node for node in world.nodes.of(transfer.transfer_id) if node.state in LIVE_STATES]
        if not any(node.provider == "pool" for node in relays):
            continue
        ends = [seat.machine for seat in transfer.senders]
        both = [(one.private_address, one.public_address) for one in ends]
        both += [(node.private_address, node.public_address) for node in relays]
        addresses = {one for pair in both for one in pair if one}
        found |= {(one, port) for one in addresses for port in (RELAY_PORT, transfer.receiver_port, *PORTS)}
    return found
