"""Launch of relays: the plan is carried out call by call; the fence is checked before and after."""

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256

from lambdas.adapters.records import Instance, LaunchError, LaunchRequest
from lambdas.adapters.world import World
from lambdas.core.errors import LaunchRefused, MissingPermission, NoCapacity, TransferFenced
from lambdas.core.fleet import launch_plan
from lambdas.core.fleet.launch_decision import LaunchDecision, decide_launch, missing_permission, remedy
from lambdas.core.fleet.launch_plan import Attempt, LaunchPlan, Step, usable
from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.core.fleet.relay_node import LIVE_STATES, Node
from lambdas.core.fleet.topology import GroupKind, Stage, route_at, stage_at
from lambdas.core.places.machines import EndMachine
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.request.labels import relay_tags
from lambdas.core.spending import cross_zone, second_choice
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import serving
from lambdas.operations.fleet.relay_end import discard, terminate_until_gone
from lambdas.operations.fleet.turns import TurnLaterError, Turns, together
from lambdas.operations.spending import metering

# What EC2 does not give; the fence and its wish to be asked later are no reason to go on with fewer.
_BORNE = (NoCapacity, LaunchRefused, MissingPermission)


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


@dataclass(frozen=True)
class Launched:
    """Nodes of one stage or of whole pairs; `notes`: in words, why they are fewer or others than were wanted first."""

    nodes: list[Node]
    notes: list[str]


def launch_relays(
    world: World,
    record: Estimated,
    slots: Mapping[int, list[int]],
    types: Mapping[int, list[str]],
    queue: LaunchQueue | None = None,
) -> Launched:
    """New relays for `slots` of each stage; one whose partner was wanted and is not to be had is terminated at once.

    `types` of each stage, the preferred one first. Slots before the first of a stage are machines of the user: they
    serve without those that EC2 refuses. A route of which one stage is not to be had does without its others; it is an
    error where that leaves no route.

    `queue`: of a launch that may wait elsewhere; raises TurnLaterError, with what was launched left for whoever comes
    again. Without it turns are waited for here.
    """
    with ThreadPoolExecutor(max(len(slots), 1)) as pool:
        kinds = {at: list(dict.fromkeys(types[at])) for at in slots}
        calls = {at: pool.submit(launch_stage, world, record, at, slots[at], 0, kinds[at], queue) for at in slots}
    failed = {at: error for at, call in calls.items() if (error := call.exception())}
    launched = [call.result() for at, call in calls.items() if at not in failed]
    borne = [at for at in failed if slots[at][0] > 1 and isinstance(failed[at], _BORNE)]
    launched += [Launched([], [f"{type(failed[at]).__name__}: {failed[at]}"]) for at in borne]
    if failures := {at: error for at, error in failed.items() if at not in borne}:
        if later := [error for error in failures.values() if isinstance(error, TurnLaterError)]:
            raise together(later)
        launched = _without_broken_routes(world, record.transfer, slots, launched, failures)
    nodes = [node for stage in launched for node in stage.nodes]
    missing = {(at, slot) for at in slots for slot in slots[at]} - {(node.stage, node.slot) for node in nodes}
    surplus = [node for node in nodes if route_at(record.transfer, node.stage).partners(node) & missing]
    discard(world, surplus, "no partner: the other side has too little capacity")
    return Launched(
        [node for node in nodes if node not in surplus],
        [note for stage in launched for note in stage.notes],
    )


def _without_broken_routes(
    world: World,
    transfer: AcceptedTransfer,
    slots: Collection[int],
    launched: list[Launched],
    failures: Mapping[int, BaseException],
) -> list[Launched]:
    """What is left without the routes that have a stage among `failures`; raises the first of these for nothing."""
    broken = {route_at(transfer, at).first for at in failures}
    first = failures[min(failures)]
    nodes = [node for stage in launched for node in stage.nodes]
    useless = [node for node in nodes if route_at(transfer, node.stage).first in broken]
    discard(world, useless, f"the other side could not be launched: {first}")
    if all(route_at(transfer, at).first in broken for at in slots) or any(
        not isinstance(error, _BORNE) for error in failures.values()
    ):
        discard(world, nodes, f"another route could not be launched: {first}")
        raise first
    kept = [Launched([node for node in stage.nodes if node not in useless], stage.notes) for stage in launched]
    return [*kept, *(Launched([], [f"{type(error).__name__}: {error}"]) for error in failures.values())]


def launch_stage(
    world: World,
    record: Estimated,
    at: int,
    slots: list[int],
    generation: int,
    types: list[str],
    queue: LaunchQueue | None = None,
) -> Launched:
    """One node of stage `at` per slot, in order, as far as capacity and quota allow; raises NoCapacity for none,
    LaunchRefused where the budget is used up. Slots that an earlier call has filled are not launched again.
    """
    transfer = record.transfer
    stage = stage_at(transfer, at)
    _may_launch(world, transfer)
    there = [n for n in world.nodes.of(transfer.transfer_id) if (n.stage, n.generation) == (at, generation)]
    nodes = [node for node in there if node.slot in slots and node.state in LIVE_STATES]
    filled = {node.slot for node in there}
    slots = [slot for slot in slots if slot not in filled]
    if not slots and nodes:
        return Launched(nodes, [])
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
        discard(world, nodes, "the transfer is being torn down")
        raise
    except LaunchRefused as error:
        discard(world, nodes, str(error))
        raise
    notes = [*plan.notes(stage.region), *notes]
    if not nodes:
        raise NoCapacity(f"no {stage.name} relay in {stage.region}: {'; '.join(notes)}")
    return Launched(nodes, notes)


def _may_launch(world: World, transfer: AcceptedTransfer) -> None:
    """Raises TransferFenced, or LaunchRefused once the budget is used up: others decide that while a launch goes on."""
    record = serving(world, transfer, Estimated)
    if record.budget is not None:
        raise LaunchRefused(record.budget.cause)


def _plan(world: World, record: Estimated, stage: Stage, wanted: int, types: list[str]) -> tuple[LaunchPlan, list[str]]:
    """The plan of one stage, and what had to be left out of it."""
    transfer, public = record.transfer, record.paths.inter_region == "public"
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
        self._public = record.paths.inter_region == "public"
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
        instances = self._world.at(self._stage.place).compute.launch(request)
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
            terminate_until_gone(self._world, [node])
        return known
