"""Launch of relays: the plan is carried out call by call; the fence is checked before and after."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256

from lambdas.adapters.records import Instance, LaunchError, LaunchRequest, TransferRecord
from lambdas.adapters.world import World
from lambdas.core.errors import LaunchRefused, MissingPermission, NoCapacity, Throttled, TransferFenced
from lambdas.core.fleet import launch_plan, pairing
from lambdas.core.fleet.launch_decision import LaunchDecision, decide_launch, missing_permission, remedy
from lambdas.core.fleet.launch_plan import LaunchPlan, Step, usable
from lambdas.core.fleet.relay_node import ROLES, Node, Role, node_id
from lambdas.core.spending import cross_zone
from lambdas.core.transfer import AcceptedTransfer, ResolvedPaths
from lambdas.operations.fleet.relay_end import discard, terminate_until_gone

# What EC2 does not give; the fence and its wish to be asked later are no reason to go on with fewer.
_BORNE = (NoCapacity, LaunchRefused, MissingPermission)


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


@dataclass(frozen=True)
class Launched:
    """Nodes of one side or of whole pairs; `notes`: in words, why they are fewer or others than were wanted first."""

    nodes: list[Node]
    notes: list[str]


def launch_relays(
    world: World, record: TransferRecord, paths: ResolvedPaths, slots: Mapping[Role, list[int]], types: list[str]
) -> Launched:
    """New relays for `slots` of each side; one whose partner was wanted and is not to be had is terminated at once.

    Slots before the first of a side are machines of the user: they serve without those that EC2 refuses.
    """
    with ThreadPoolExecutor(len(ROLES)) as pool:
        sides = {role: pool.submit(launch_side, world, record, paths, role, slots[role], 0, types) for role in slots}
    failed = {role: error for role, side in sides.items() if (error := side.exception())}
    launched = [side.result() for role, side in sides.items() if role not in failed]
    borne = [role for role in failed if slots[role][0] > 1 and isinstance(failed[role], _BORNE)]
    launched += [Launched([], [f"{type(failed[role]).__name__}: {failed[role]}"]) for role in borne]
    if failures := [error for role, error in failed.items() if role not in borne]:
        if all(isinstance(error, Throttled) for error in failures):
            raise failures[0]  # the retried call gets the same instances by its client token
        whole = [node for side in launched for node in side.nodes]
        discard(world, whole, f"the other side could not be launched: {failures[0]}")
        raise failures[0]
    nodes = [node for side in launched for node in side.nodes]
    wanted = {(role, slot) for role in slots for slot in slots[role]}
    missing = wanted - {(node.role, node.slot) for node in nodes}
    surplus = [node for node in nodes if pairing.opposite(node) in missing]
    discard(world, surplus, "no partner: the other side has too little capacity")
    return Launched(
        [node for node in nodes if pairing.opposite(node) not in missing],
        [note for side in launched for note in side.notes],
    )


def launch_side(
    world: World,
    record: TransferRecord,
    paths: ResolvedPaths,
    role: Role,
    slots: list[int],
    generation: int,
    types: list[str],
) -> Launched:
    """One node per slot, in order, as far as capacity and quota allow; raises NoCapacity when there is none."""
    transfer = record.transfer
    region = transfer.end(role).region
    _check_fence(world, transfer)
    plan, notes = _plan(world, record, paths, role, len(slots), types)
    side = _Side(world, transfer, role, generation, public=paths.inter_region == "public")
    nodes: list[Node] = []
    while attempt := plan.attempt:
        try:
            launched = side.launch(attempt.step, slots[plan.launched :][: attempt.count])
        except LaunchError as error:
            try:
                plan = plan.after_refusal(attempt, _decide(error, region), error.code)
            except (MissingPermission, LaunchRefused) as refusal:
                if not nodes:
                    raise
                notes.append(str(refusal))  # fewer relays are better than none
                break
            continue
        nodes += launched
        plan = plan.after_launch(attempt, len(launched))
    try:
        _check_fence(world, transfer)
    except TransferFenced:
        discard(world, nodes, "the transfer is being torn down")
        raise
    notes = [*plan.notes(region), *notes]
    if not nodes:
        raise NoCapacity(f"no {role} relay in {region}: {'; '.join(notes)}")
    return Launched(nodes, notes)


def _plan(
    world: World, record: TransferRecord, paths: ResolvedPaths, role: Role, wanted: int, types: list[str]
) -> tuple[LaunchPlan, list[str]]:
    """The plan of one side, and what had to be left out of it."""
    transfer = record.transfer
    end, public = transfer.end(role), paths.inter_region == "public"
    subnets = usable(world.subnets(end.region).of_vpc(end.vpc_id), end.subnet_id, public=public)
    if not subnets:
        kind = "subnet with a route to an internet gateway" if public else "subnet"
        raise LaunchRefused(
            f"no {kind} of {end.vpc_id} ({end.region}), the VPC of {end.instance_id}, is enrolled for relays: "
            "add one to the deployment's configuration"
        )
    notes = []
    if record.estimate and (reason := cross_zone.above_budget(transfer, record.estimate)):
        subnets = [subnet for subnet in subnets if subnet.zone == end.availability_zone]
        notes = [f"other zones of {end.region} were left out: {reason}"]
    spot = transfer.request.relays.market == "spot"
    return launch_plan.plan(wanted, types, subnets, end.availability_zone, spot=spot), notes


def _decide(error: LaunchError, region: str) -> LaunchDecision:
    """What the plan is to make of a refusal; raises what the launch cannot survive."""
    decision = decide_launch(error.code)
    match decision:
        case LaunchDecision.MISSING_PERMISSION:
            raise MissingPermission(f"{missing_permission(error.code, error.message)} in {region}: {error}") from error
        case LaunchDecision.RETRY_LATER:
            raise Throttled(f"ec2:RunInstances in {region}: {error}") from error
        case LaunchDecision.REFUSE:
            raise LaunchRefused(f"ec2:RunInstances in {region}: {error}; {remedy(error.code)}") from error
    return decision


def _check_fence(world: World, transfer: AcceptedTransfer) -> None:
    record = world.transfers.get(transfer.transfer_id)
    if record is None or not record.serves(transfer):
        raise TransferFenced(f"{transfer.transfer_id} is being torn down, or goes on in another execution")


class _Side:
    """Launches relays of one side, of one generation."""

    def __init__(self, world: World, transfer: AcceptedTransfer, role: Role, generation: int, *, public: bool) -> None:
        self._world, self._transfer = world, transfer
        self._role, self._generation, self._public = role, generation, public
        self._group_id = relay_group(world, transfer, role)
        self._region = transfer.end(role).region

    def launch(self, step: Step, slots: list[int]) -> list[Node]:
        """Nodes for the first of `slots`, as many as EC2 has of this step; raises LaunchError."""
        request = LaunchRequest(
            transfer_id=self._transfer.transfer_id,
            role=self._role,
            instance_type=step.instance_type,
            count=len(slots),
            subnet_id=step.subnet.subnet_id,
            group_id=self._group_id,
            public_address=self._public,
            spot=step.market == "spot",
            client_token=self._client_token(step, slots),
        )
        requested_at = self._world.clock.now()
        instances = self._world.compute(self._region).launch(request)
        made = zip(slots, instances, strict=False)
        return [self._put(self._node(step, slot, instance, requested_at)) for slot, instance in made]

    def _client_token(self, step: Step, slots: list[int]) -> str:
        """The same launch, retried, is the same launch; EC2 takes 64 characters, and a known token for no other."""
        place = (step.market, step.instance_type, step.subnet.subnet_id)
        launch = (self._role, slots[0], len(slots), self._generation, *place)
        parts = (self._transfer.execution_arn, self._transfer.transfer_id, *map(str, launch))
        return sha256("\n".join(parts).encode()).hexdigest()

    def _node(self, step: Step, slot: int, instance: Instance, requested_at: float) -> Node:
        return Node(
            transfer_id=self._transfer.transfer_id,
            node_id=node_id(self._role, slot, self._generation),
            role=self._role,
            slot=slot,
            generation=self._generation,
            state="SPAWNED",
            instance_id=instance.instance_id,
            instance_type=instance.instance_type,
            region=self._region,
            availability_zone=instance.availability_zone or step.subnet.zone,
            market=step.market,
            private_address=instance.private_address,
            requested_at=requested_at,
        )

    def _put(self, node: Node) -> Node:
        """The node as the table has it: an earlier call may have launched it, of another type or number."""
        if self._world.nodes.put(node):
            self._world.metrics.put({"RelaysLaunched": 1})
            return node
        known = next(known for known in self._world.nodes.of(node.transfer_id) if known.node_id == node.node_id)
        if known.instance_id != node.instance_id:
            terminate_until_gone(self._world, [node])
        return known
