"""Machines of the user as relays: looked at, leased with their share, and given back as they were."""

from collections.abc import Sequence
from contextlib import suppress
from math import ceil

from lambdas.adapters.records import Instance, NotManagedError
from lambdas.adapters.world import World
from lambdas.core.estimate import published_limits
from lambdas.core.fleet.reconcile import Lease
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import Route, Stage, stage_at
from lambdas.core.places.machines import ExistingRelay
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.request.bandwidth import MBIT_PER_MB
from lambdas.core.request.request import TransferRequest


def look_at(request: TransferRequest, route: Route, world: World) -> tuple[list[ExistingRelay], list[str]]:
    """The request's existing machines, each with its stage, and what is wrong with the others."""
    found: list[ExistingRelay] = []
    problems = []
    for i, instance_id in enumerate(request.relays.existing):
        # In one VPC with several stages a machine could serve at any: the one that has fewest takes it.
        stages = sorted(route.stages, key=lambda stage: sum(relay.stage == stage.index for relay in found))
        seen = [(stage, one) for stage in stages for one in world.at(stage.place).compute.describe([instance_id])]
        stage, instance = next(((at, one) for at, one in seen if one.vpc_id == at.vpc_id), (stages[0], None))
        problem = _problem(world, stage, instance) if instance else _elsewhere(route)
        if instance and not problem:
            machine = dict(instance.machine(stage.region))
            found.append(ExistingRelay(**machine, stage=stage.index, spot=instance.spot))
        else:
            problems.append(f"$.relays.existing[{i}]: '{instance_id}' {problem}")
    return found, problems


def _elsewhere(route: Route) -> str:
    places = " or ".join(f"{stage.vpc_id} ({stage.region})" for stage in route.stages)
    return f"is not in the VPC of an end; name an instance of {places}"


def _problem(world: World, stage: Stage, instance: Instance) -> str | None:
    name, group = world.env.deployment, f"{world.env.deployment}-endpoint"
    if instance.state != "running":
        return f"is {instance.state}; start it first"
    if instance.lent_to != name:
        return f"is not lent to this deployment: whoever owns it adds the tag 'cpt:lent-to' with the value '{name}'"
    if world.at(stage.place).groups.find(group, stage.vpc_id) not in instance.group_ids:
        return f"is not in the security group '{group}'; attach it, as to the ends"
    if world.env.inter_region_path == "internet" and not instance.public_address:
        return "has no public address, and the regions are joined by the internet; give it one, or leave it out"
    if not world.at(stage.place).commands.online([instance.instance_id]):
        return f"does not answer SSM; install the SSM agent and attach the managed policy '{group}' to its role"
    return None


def lease(world: World, record: Estimated, wanted: Lease) -> list[Node]:
    """Nodes for the machines that the user lends to a stage, which take its first slots."""
    stage = stage_at(record.transfer, wanted.stage)
    machines = [relay for relay in record.transfer.existing if relay.stage == stage.index]
    nodes = [_node(world, record, stage, machines[slot - 1], slot) for slot in wanted.slots]
    for node in nodes:
        world.nodes.put(node)
    return nodes


def _node(world: World, record: Estimated, stage: Stage, machine: ExistingRelay, slot: int) -> Node:
    share = record.transfer.request.relays.existing_share
    return Node(
        transfer_id=record.transfer.transfer_id,
        node_id=stage.node_id(slot, 0),
        stage=stage.index,
        stage_name=stage.name,
        slot=slot,
        generation=0,
        state="SPAWNED",
        instance_id=machine.instance_id,
        instance_type=machine.instance_type,
        region=machine.region,
        availability_zone=machine.availability_zone,
        market="spot" if machine.spot else "on-demand",
        provider="lent",
        cpu_percent=ceil(100 * share * (machine.vcpus or 1)),
        bandwidth_limit_mbps=max(int(share * _rate(world, record, machine) * MBIT_PER_MB), 1),
        private_address=machine.private_address,
        public_address=machine.public_address,
        requested_at=world.clock.now(),
    )


def _rate(world: World, record: Estimated, machine: ExistingRelay) -> float:
    """Return what its type may send out of the region, MB/s, as AWS publishes it: it may have carried other traffic."""
    kind = machine.instance_type
    facts = world.at(machine.place).instance_types.facts([kind]).get(kind)
    internet = record.paths.inter_region == "public"
    return published_limits.outward(
        facts, kind, between_regions=record.transfer.between_regions, internet=internet
    ).value


def take_back(world: World, nodes: Sequence[Node]) -> None:
    """Stop the daemon on machines of the user.

    One that cannot be told is told again by the teardown, and ends itself when it has been idle.
    """
    for node in nodes:
        with suppress(NotManagedError):
            world.at(node.place).commands.send("stop", [node.instance_id], node.transfer_id, None)
