"""Limits of a region's leases, divided anew and told: less first, and more once nodes say that they follow."""

from lambdas.adapters.world import World
from lambdas.core.pool.division import divided
from lambdas.core.pool.lease_share import lease_key
from lambdas.core.pool.pool_node import LIVE, Lease, PoolNode

# Nodes look at their leases twice a second, and say at once what they apply.
FOLLOW_SECONDS = 6.0
POLL_SECONDS = 1.0


def share(world: World, region: str) -> int:
    """Divide, and divide once more when less is followed; how many limits were told."""
    told, until = 0, world.clock.monotonic() + FOLLOW_SECONDS
    while True:
        count, is_owed = _divide(world, region)
        told += count
        # The next look goes on where nodes do not follow in time.
        if not is_owed or world.clock.monotonic() >= until:
            return told
        world.clock.sleep(POLL_SECONDS)


def _divide(world: World, region: str) -> tuple[int, bool]:
    """How many limits were told, and whether somebody is to have more."""
    leases = _leases(world, region)
    found = divided(leases, world.pool.shares(region), world.env.tenants, world.clock.now())
    # Kept first: what was told and not kept would be given to others too.
    world.pool.put_shares(region, found.shares)
    for node, lease in leases:
        if limit := found.limits.get(lease_key(lease)):
            share = found.shares[lease_key(lease)]
            world.pool.limit(node, lease, limit, share.told.guarantee_mb_s)
    return len(found.limits), bool(found.owed)


def _leases(world: World, region: str) -> list[tuple[PoolNode, Lease]]:
    nodes = [node for node in world.pool.nodes(region) if node.state in LIVE]
    return [(node, lease) for node in nodes for lease in world.pool.standing(node)[0]]
