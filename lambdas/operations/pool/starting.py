"""New nodes of a region's pool: which subnet, and what is noted of them."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from lambdas.adapters.records import Instance, LaunchError, LaunchRequest
from lambdas.adapters.world import World
from lambdas.core.errors import LaunchRefused
from lambdas.core.estimate import published_limits
from lambdas.core.fleet.launch_plan import usable
from lambdas.core.places.place import Place
from lambdas.core.pool.pool_node import LIVE, PoolNode
from lambdas.operations.fleet.providers import launched

# Of a digest: enough to tell versions apart.
_VERSION_CHARACTERS = 16


def version(world: World, region: str) -> str:
    """The daemon that nodes are launched with now."""
    return world.env.daemon_assets[region]["x86_64"].sha256[:_VERSION_CHARACTERS]


def start(world: World, region: str, nodes: Sequence[PoolNode], count: int) -> int:
    """Launch so many nodes beside those that are known, each in the zone that has the fewest; how many came.

    Raises LaunchRefused where none may be launched.
    """
    started, there = 0, list(nodes)
    for _ in range(count):
        node = _launched(world, region, there)
        if node is None:
            break
        there.append(node)
        started += 1
    return started


def _launched(world: World, region: str, nodes: Sequence[PoolNode]) -> PoolNode | None:
    """One more node; None where EC2 has none in any of the subnets."""
    place, group = Place(region), f"{world.env.deployment}-relay"
    vpc_id = world.at(place).groups.vpc_of(group)
    group_id = world.at(place).groups.find(group, vpc_id) if vpc_id else None
    if vpc_id is None or group_id is None:
        raise LaunchRefused(
            f"security group '{group}' is not in {region}: deploy {world.env.deployment}-region-{region}"
        )
    public = world.env.inter_region_path == "internet"
    subnets = usable(world.at(place).subnets.of_vpc(vpc_id), "", public=public)
    if not subnets:
        raise LaunchRefused(f"no subnet of {vpc_id} ({region}) is enrolled for relays")
    by_zone = Counter(node.zone for node in nodes if node.state in LIVE)
    for subnet in sorted(subnets, key=lambda one: (by_zone[one.zone], one.subnet_id)):
        request = LaunchRequest(
            transfer_id=None,
            role="pool",
            instance_type=world.env.pool_regions[region].instance_type,
            count=1,
            subnet_id=subnet.subnet_id,
            group_id=group_id,
            public_address=public,
            spot=False,
            client_token=_client_token(world, region, nodes, subnet.subnet_id),
        )
        try:
            instances = launched.launch(world, place, request)
        except LaunchError as error:
            # The next look tries again: a pool that is too small is no failure of a transfer.
            world.metrics.put({"PoolLaunchesRefused": 1})
            refused = error
            continue
        node = node_of(world, region, instances[0])
        world.pool.put(node)
        return node
    raise LaunchRefused(f"ec2:RunInstances in {region}: {refused}") from refused


def _client_token(world: World, region: str, nodes: Sequence[PoolNode], subnet_id: str) -> str:
    """The same launch, retried beside the same nodes within the same minute, is the same launch.

    Later it is another one, or nodes that have ended would be named again. EC2 takes 64 characters.
    """
    minute = str(int(world.clock.now() // 60))
    parts = (world.env.deployment, region, subnet_id, minute, *sorted(node.node_id for node in nodes))
    return sha256("\n".join(parts).encode()).hexdigest()


def node_of(world: World, region: str, instance: Instance) -> PoolNode:
    """The item of a machine that has just been launched, or that nobody has noted yet."""
    kind = instance.instance_type
    facts = world.at(Place(region)).instance_types.facts([kind]).get(kind)
    internet = world.env.inter_region_path == "internet"
    return PoolNode(
        node_id=instance.instance_id,
        region=region,
        zone=instance.availability_zone,
        vpc_id=instance.vpc_id,
        instance_id=instance.instance_id,
        instance_type=kind,
        version=version(world, region),
        state="STARTING",
        capacity_mb_s=published_limits.outward(facts, kind, between_regions=True, internet=internet).value,
        requested_at=world.clock.now(),
    )
