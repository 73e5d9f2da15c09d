"""Relays that are launched for a transfer: call by call of the plan; the fence is checked before and after."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from hashlib import sha256

from lambdas.adapters.records import Instance, LaunchError, LaunchRequest
from lambdas.adapters.world import World
from lambdas.core.errors import LaunchRefused, MissingPermission, NoCapacity, TransferFenced
from lambdas.core.fleet import launch_plan, node_life
from lambdas.core.fleet.launch_decision import LaunchDecision, decide_launch, missing_permission, remedy
from lambdas.core.fleet.launch_plan import Attempt, LaunchPlan, Step, usable
from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.core.fleet.reconcile import Lease
from lambdas.core.fleet.relay_node import LIVE_STATES, Node
from lambdas.core.fleet.topology import GroupKind, Stage, stage_at
from lambdas.core.places.machines import EndMachine
from lambdas.core.places.place import Place
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.request.labels import relay_tags
from lambdas.core.spending import cross_zone, second_choice
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import serving
from lambdas.operations.fleet.providers.turns import Turns
from lambdas.operations.spending import metering

# For some seconds after RunInstances, EC2 may know neither an instance's id nor its state; a minute bounds the wait.
TERMINATE_SECONDS = 60.0


def security_group(world: World, beside: Stage | EndMachine, kind: GroupKind) -> str:
    """The id of the relays' or the end machines' security group in the VPC of a stage or an end."""
    name = f"{world.env.deployment}-{kind}"
    group = world.at(beside.place).groups.find(name, beside.vpc_id)
    if group is None:
        raise LaunchRefused(
            f"security group '{name}' is not in {beside.where}: enrol it in the deployment's configuration, or choose "
            "a machine in an enrolled one"
        )
    return group


def lease(
    world: World, record: Estimated, wanted: Lease, types: list[str], queue: LaunchQueue | None = None
) -> tuple[list[Node], list[str]]:
    """One node per slot, in order, as far as capacity and quota allow, and why not all, or others, in words.

    `types`: the preferred one first. Raises NoCapacity for none, LaunchRefused where the budget is used up. Slots that
    an earlier call has filled are not launched again.
    """
    at, slots, generation = wanted.stage, list(wanted.slots), wanted.generation
    transfer = record.transfer
    stage = stage_at(transfer, at)
    _may_launch(world, transfer)
    there = [n for n in world.nodes.of(transfer.transfer_id) if (n.stage, n.generation) == (at, generation)]
    nodes = [node for node in there if node.slot in slots and node.state in LIVE_STATES]
    filled = {node.slot for node in there}
    slots = [slot for slot in slots if slot not in filled]
    if not slots and nodes:
        return nodes, []
    plan, notes = _plan(world, record, stage, len(slots), types)
    turns = Turns(world, stage.region, at, queue)
    launcher = _Launcher(world, record, stage, generation)
    while attempt := plan.attempt:
        count = _bearable(world, record, stage, attempt)
        if not count:
            plan = plan.left_out(attempt.step)
            continue
        attempt = replace(attempt, count=count)
        try:
            turns.wait()
            launched = launcher.launch(attempt.step, slots[plan.launched :][:count])
        except LaunchError as error:
            try:
                decision = _decide(error, stage.region)
                if decision is LaunchDecision.RETRY_LATER:
                    turns.refused(str(error))
                else:
                    plan = plan.after_refusal(attempt, decision, error.code)
            except (NoCapacity, MissingPermission, LaunchRefused) as refusal:
                if not nodes:
                    raise
                notes.append(str(refusal))  # fewer relays are better than none
                break
            continue
        nodes += launched
        metering.renew_lease(world, record)
        plan = plan.after_launch(attempt, len(launched))
    try:
        _may_launch(world, transfer)
    except TransferFenced:
        _undo(world, nodes, "the transfer is being torn down")
        raise
    except LaunchRefused as error:
        _undo(world, nodes, str(error))
        raise
    notes = [*plan.notes(stage.region), *notes]
    if not nodes:
        raise NoCapacity(f"no {stage.name} relay in {stage.region}: {'; '.join(notes)}")
    return nodes, notes


def _undo(world: World, nodes: list[Node], reason: str) -> None:
    lost = node_life.lose(reason, world.clock.now(), "discard")
    take_back(world, [node for node in nodes if world.nodes.change(node, lost)], surely=True)


def _may_launch(world: World, transfer: AcceptedTransfer) -> None:
    """Raises TransferFenced, or LaunchRefused once the budget is used up: others decide that while a launch goes on."""
    record = serving(world, transfer, Estimated)
    if record.budget is not None:
        raise LaunchRefused(record.budget.cause)
    if record.paused:
        raise LaunchRefused("the transfer is paused")


def _plan(world: World, record: Estimated, stage: Stage, wanted: int, types: list[str]) -> tuple[LaunchPlan, list[str]]:
    """The plan of one stage, and what had to be left out of it."""
    transfer, public = record.transfer, _is_public(record, stage)
    subnets = usable(world.at(stage.place).subnets.of_vpc(stage.vpc_id), stage.subnet_id, public=public)
    if not subnets:
        kind = "subnet with a route to an internet gateway" if public else "subnet"
        raise LaunchRefused(
            f"no {kind} of {stage.where}, is enrolled for relays: add one to the deployment's configuration"
        )
    notes = []
    if stage.end and (reason := cross_zone.above_budget(transfer, record.estimate)):
        subnets = [subnet for subnet in subnets if subnet.zone == stage.zone]
        notes = [f"other zones of {stage.region} were left out: {reason}"]
    spot = transfer.request.relays.market == "spot"
    return launch_plan.plan(wanted, types, subnets, stage.zone, spot=spot), notes


def _is_public(record: Estimated, stage: Stage) -> bool:
    """Whether its relays need public addresses: to reach other regions, or S3 as the machine beside them does."""
    to_store = record.transfer.on_one_machine and stage.end is not None and stage.end.public_address is not None
    return to_store or record.paths.inter_region == "public"


def _bearable(world: World, record: Estimated, stage: Stage, attempt: Attempt) -> int:
    """How many relays of an attempt the budget bears: whoever launches has asked it about the first choice alone."""
    transfer, estimate, step = record.transfer, record.estimate, attempt.step
    if transfer.request.objective.max_cost_usd is None:
        return attempt.count
    nodes = world.nodes.of(transfer.transfer_id)
    count = second_choice.bearable(step, stage, attempt.count, nodes, transfer, estimate)
    hour = second_choice.step_hour_usd(step, stage, transfer, estimate)
    if not count or hour <= estimate.hour_usd(stage.index):
        return count
    return metering.affordable(world, record, count, hour)


def _decide(error: LaunchError, region: str) -> LaunchDecision:
    """Return what the plan is to make of a refusal; raises what the launch cannot survive."""
    decision = decide_launch(error.code)
    match decision:
        case LaunchDecision.MISSING_PERMISSION:
            raise MissingPermission(f"{missing_permission(error.code, error.message)} in {region}: {error}") from error
        case LaunchDecision.REFUSE:
            raise LaunchRefused(f"ec2:RunInstances in {region}: {error}; {remedy(error.code)}") from error
    return decision


class _Launcher:
    """Launches relays of one stage, of one generation."""

    def __init__(self, world: World, record: Estimated, stage: Stage, generation: int) -> None:
        self._world, self._transfer, self._estimate = world, record.transfer, record.estimate
        self._stage, self._generation = stage, generation
        self._public = _is_public(record, stage)
        self._group_id = security_group(world, stage, "relay")

    def launch(self, step: Step, slots: list[int]) -> list[Node]:
        """Nodes for the first of `slots`, as many as EC2 has of this step; raises LaunchError."""
        request = LaunchRequest(
            transfer_id=self._transfer.transfer_id,
            role=self._stage.name,
            instance_type=step.instance_type,
            count=len(slots),
            subnet_id=step.subnet.subnet_id,
            group_id=self._group_id,
            public_address=self._public,
            spot=step.market == "spot",
            client_token=self._client_token(step, slots),
            favours_network=self._favours_network(step),
            tags=relay_tags(self._transfer.request.label, self._transfer.request.tags),
        )
        requested_at = self._world.clock.now()
        instances = launch(self._world, self._stage.place, request)
        made = zip(slots, instances, strict=False)
        return [self._put(self._node(step, slot, instance, requested_at)) for slot, instance in made]

    def _client_token(self, step: Step, slots: list[int]) -> str:
        """The same launch, retried, is the same launch; EC2 takes 64 characters, and a known token for no other."""
        place = [step.market, step.instance_type, step.subnet.subnet_id]
        place += ["network"] if self._favours_network(step) else []
        launch = (self._stage.name, slots[0], len(slots), self._generation, *place)
        parts = (self._transfer.execution_arn, self._transfer.transfer_id, *map(str, launch))
        return sha256("\n".join(parts).encode()).hexdigest()

    def _favours_network(self, step: Step) -> bool:
        return self._estimate.favours_network(step.instance_type, self._stage.region)

    def _node(self, step: Step, slot: int, instance: Instance, requested_at: float) -> Node:
        return Node(
            transfer_id=self._transfer.transfer_id,
            node_id=self._stage.node_id(slot, self._generation),
            stage=self._stage.index,
            stage_name=self._stage.name,
            slot=slot,
            generation=self._generation,
            state="SPAWNED",
            instance_id=instance.instance_id,
            instance_type=instance.instance_type,
            region=self._stage.region,
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
            take_back(self._world, [node], surely=True)
        return known


def launch(world: World, place: Place, request: LaunchRequest) -> list[Instance]:
    """RunInstances, for relays of a transfer and for nodes of the pool: nobody else calls it. Raises LaunchError."""
    return world.at(place).compute.launch(request)


def take_back(world: World, nodes: Sequence[Node], *, surely: bool) -> None:
    """Terminate them; `surely`: until EC2 shows them gone, since an id that it does not know yet is not terminated."""
    left = {region: {n.instance_id for n in nodes if n.region == region} for region in {n.region for n in nodes}}
    deadline = world.clock.monotonic() + TERMINATE_SECONDS
    while any(left.values()):
        for region, ids in left.items():
            terminate(world, region, ids)
        if not surely or world.clock.monotonic() >= deadline:
            return
        for region, ids in left.items():
            shown = world.at(Place(region)).compute.describe(ids) if ids else []
            ids -= {instance.instance_id for instance in shown if instance.gone}
        if any(left.values()):
            world.clock.sleep(world.env.poll_seconds)


def terminate(world: World, region: str, instance_ids: Collection[str]) -> None:
    """Ask EC2 to terminate machines that were launched here: nobody else does."""
    if instance_ids:
        world.at(Place(region)).compute.terminate(instance_ids)
