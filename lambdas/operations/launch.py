"""Launch of relays: capacity, quota and permission each have their decision; the fence is checked before and after."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

from lambdas.adapters.records import Instance, LaunchError, LaunchRequest, TransferRecord
from lambdas.adapters.world import World
from lambdas.core.errors import LaunchRefused, MissingPermission, NoCapacity, Throttled, TransferFenced
from lambdas.core.fleet import ROLES, LaunchDecision, Node, Role, decide_launch, node_id
from lambdas.core.transfer import AcceptedTransfer, ResolvedPaths

# For some seconds after RunInstances, EC2 may know neither an instance's id nor its state; a minute bounds the wait.
TERMINATE_SECONDS = 60.0


def relay_group(world: World, transfer: AcceptedTransfer, role: Role) -> str:
    """The relays' security group in the VPC of the end machine on this side."""
    return _group(world, transfer, role, "relay")


def endpoint_group(world: World, transfer: AcceptedTransfer, role: Role) -> str:
    """The end machines' security group in that VPC."""
    return _group(world, transfer, role, "endpoint")


def _group(world: World, transfer: AcceptedTransfer, role: Role, kind: str) -> str:
    end, name = transfer.end(role), f"{world.env.deployment}-{kind}"
    group = world.groups(end.region).find(name, end.vpc_id)
    if group is None:
        raise LaunchRefused(
            f"security group '{name}' is not in {end.vpc_id} ({end.region}), the VPC of {end.instance_id}: enrol it "
            "in the deployment's configuration, or choose a machine in an enrolled one"
        )
    return group


def launch_pairs(
    world: World, record: TransferRecord, paths: ResolvedPaths, count: int, types: list[str]
) -> list[Node]:
    """Up to `count` new pairs, slots from 1; relays without a partner are terminated at once."""
    slots = list(range(1, count + 1))
    with ThreadPoolExecutor(len(ROLES)) as pool:
        sides = [pool.submit(launch_side, world, record, paths, role, slots, 0, types) for role in ROLES]
    failures = [error for error in (side.exception() for side in sides) if error]
    launched = [side.result() for side in sides if side.exception() is None]
    if failures:
        if all(isinstance(error, Throttled) for error in failures):
            raise failures[0]  # the retried call gets the same instances by its client token
        whole = [node for side in launched for node in side]
        discard(world, whole, f"the other side could not be launched: {failures[0]}")
        raise failures[0]
    most = min(len(side) for side in launched)
    surplus = [node for side in launched for node in side[most:]]
    discard(world, surplus, f"no partner: the other side has capacity for {most}")
    return [node for side in launched for node in side[:most]]


def launch_side(
    world: World,
    record: TransferRecord,
    paths: ResolvedPaths,
    role: Role,
    slots: list[int],
    generation: int,
    types: list[str],
) -> list[Node]:
    """One node per slot, in order, as far as capacity and quota allow; raises NoCapacity when there is none."""
    transfer = record.transfer
    _check_fence(world, transfer)
    nodes: list[Node] = []
    refusals = []
    types, at_once = list(types), len(slots)
    while types and at_once and len(nodes) < len(slots):
        asked = slots[len(nodes) :][:at_once]
        request = LaunchRequest(
            transfer_id=transfer.transfer_id,
            role=role,
            instance_type=types[0],
            count=len(asked),
            subnet_id=transfer.end(role).subnet_id,
            group_id=relay_group(world, transfer, role),
            public_address=paths.inter_region == "public",
            spot=transfer.request.relays.market == "spot",
            client_token=_client_token(transfer, role, asked, generation, types[0]),
        )
        requested_at = world.clock.now()
        try:
            instances = world.compute(transfer.end(role).region).launch(request)
        except LaunchError as error:
            refusals.append(str(error))
            if _another_type_may_do(error):
                del types[0]
            else:
                at_once = len(asked) // 2
            continue
        launched = [
            _node(transfer, role, slot, generation, instance, requested_at)
            for slot, instance in zip(asked, instances, strict=False)
        ]
        nodes += [_put(world, node) for node in launched]
        if len(launched) < len(asked):  # that is all EC2 has of this type
            del types[0]
    try:
        _check_fence(world, transfer)
    except TransferFenced:
        discard(world, nodes, "the transfer is being torn down")
        raise
    if not nodes:
        raise NoCapacity(f"no {role} relay in {transfer.end(role).region}: {'; '.join(refusals)}")
    return nodes


def _put(world: World, node: Node) -> Node:
    """The node as the table has it: an earlier call may have launched it, of another type or number."""
    if world.nodes.put(node):
        return node
    known = next(known for known in world.nodes.of(node.transfer_id) if known.node_id == node.node_id)
    if known.instance_id != node.instance_id:
        _terminate(world, [node])
    return known


def _another_type_may_do(error: LaunchError) -> bool:
    """False: a smaller number of this type may do. Raises what the launch cannot survive."""
    match decide_launch(error.code):
        case LaunchDecision.NEXT_TYPE:
            return True
        case LaunchDecision.FEWER_PAIRS:
            return False
        case LaunchDecision.MISSING_PERMISSION:
            raise MissingPermission(f"ec2:RunInstances: {error}") from error
        case LaunchDecision.RETRY_LATER:
            raise Throttled(f"ec2:RunInstances: {error}") from error
        case LaunchDecision.FAIL:
            raise LaunchRefused(f"ec2:RunInstances: {error}") from error


def _check_fence(world: World, transfer: AcceptedTransfer) -> None:
    record = world.transfers.get(transfer.transfer_id)
    if record is None or record.fenced:
        raise TransferFenced(f"{transfer.transfer_id} is being torn down")


def _client_token(transfer: AcceptedTransfer, role: Role, slots: list[int], generation: int, instance_type: str) -> str:
    """The same launch, retried, is the same launch; EC2 takes 64 characters, and no other count with a known token."""
    launch = (role, slots[0], len(slots), generation, instance_type)
    parts = (transfer.execution_arn, transfer.transfer_id, *map(str, launch))
    return sha256("\n".join(parts).encode()).hexdigest()


def _node(
    transfer: AcceptedTransfer, role: Role, slot: int, generation: int, instance: Instance, requested_at: float
) -> Node:
    end = transfer.end(role)
    return Node(
        transfer_id=transfer.transfer_id,
        node_id=node_id(role, slot, generation),
        role=role,
        slot=slot,
        generation=generation,
        state="SPAWNED",
        instance_id=instance.instance_id,
        instance_type=instance.instance_type,
        region=end.region,
        availability_zone=instance.availability_zone or end.availability_zone,
        market=transfer.request.relays.market,
        private_address=instance.private_address,
        requested_at=requested_at,
    )


def discard(world: World, nodes: list[Node], reason: str) -> None:
    """Terminate nodes that will not be used."""
    for node in nodes:
        world.nodes.move(node, "LOST", ["SPAWNED", "READY"], reason=reason[:1000], ended_at=world.clock.now())
    _terminate(world, nodes)


def _terminate(world: World, nodes: list[Node]) -> None:
    """Terminate until EC2 shows them all gone: an id that it does not know yet is not terminated."""
    deadline = world.clock.monotonic() + TERMINATE_SECONDS
    left = {region: {n.instance_id for n in nodes if n.region == region} for region in {n.region for n in nodes}}
    while any(left.values()) and world.clock.monotonic() < deadline:
        for region, ids in left.items():
            world.compute(region).terminate(ids)
            ids -= {instance.instance_id for instance in world.compute(region).describe(ids) if instance.gone}
        if any(left.values()):
            world.clock.sleep(world.env.poll_seconds)
