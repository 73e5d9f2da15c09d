"""Validate Request: refuse what cannot work before anything costs money; lock the destination path."""

from datetime import datetime
from re import sub
from typing import Any

from lambdas.adapters.records import Instance
from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import DestinationBusy, InvalidRequest
from lambdas.core.request import Limits, TransferRequest, parse_request
from lambdas.core.transfer import AcceptedTransfer, EndMachine
from lambdas.runtime.handler import task_state


class ValidateInput(Handover):
    """What the state machine hands over; `request` is raw."""

    request: Any
    execution_arn: str
    execution_name: str
    started_at: str


def validate_request(event: ValidateInput, world: World) -> AcceptedTransfer:
    """The accepted transfer; raises InvalidRequest or DestinationBusy."""
    env = world.env
    request = parse_request(event.request, Limits(env.regions, env.max_pairs, env.instance_types))
    source, destination = _ends(request, world)
    transfer_id = request.name or sub(r"[^A-Za-z0-9_-]", "-", event.execution_name)[:80].lstrip("-_")
    relays = request.relays.model_copy(
        update={"instance_types": request.relays.instance_types or list(env.instance_types)}
    )
    transfer = AcceptedTransfer(
        transfer_id=transfer_id,
        execution_arn=event.execution_arn,
        execution_started_at=datetime.fromisoformat(event.started_at).timestamp(),
        request=request.model_copy(update={"name": transfer_id, "relays": relays}),
        source=source,
        destination=destination,
    )
    # The record comes first: whatever fails from here on, the teardown finds the transfer by its execution.
    if not world.transfers.create(transfer):
        raise InvalidRequest(f"$.name: '{transfer_id}' was used by another execution; choose another name")
    path = request.destination.path
    other = world.locks.acquire(destination.instance_id, path, transfer_id)
    if other:
        raise DestinationBusy(
            f"$.destination.path: '{path}' on {destination.instance_id} overlaps with what transfer '{other}' writes; "
            "wait until it has ended or choose another path"
        )
    world.events.put("Transfer Started", {"transferId": transfer_id, "executionArn": event.execution_arn})
    return transfer


def _ends(request: TransferRequest, world: World) -> tuple[EndMachine, EndMachine]:
    problems: list[str] = []
    ends = []
    for side, end in (("source", request.source), ("destination", request.destination)):
        found = world.compute(end.region).describe([end.instance_id])
        problem = _problem(end.region, end.instance_id, found, world)
        if problem:
            problems.append(f"$.{side}.instanceId: '{end.instance_id}' {problem}")
        else:
            ends.append(_machine(end.region, found[0]))
    if problems:
        raise InvalidRequest(problems)
    return ends[0], ends[1]


def _problem(region: str, instance_id: str, found: list[Instance], world: World) -> str | None:
    if not found or found[0].gone:
        return f"is not in {region}; name an instance of that region, or correct the region"
    if found[0].state != "running":
        return f"is {found[0].state}; start it first"
    if not world.commands(region).online([instance_id]):
        return "does not answer SSM; install the SSM agent and attach the control stack's managed policy to its role"
    return None


def _machine(region: str, instance: Instance) -> EndMachine:
    return EndMachine(
        instance_id=instance.instance_id,
        region=region,
        availability_zone=instance.availability_zone,
        instance_type=instance.instance_type,
        vcpus=instance.vcpus,
        vpc_id=instance.vpc_id,
        subnet_id=instance.subnet_id,
        private_address=instance.private_address,
        public_address=instance.public_address,
    )


handler = task_state("Validate Request", ValidateInput, validate_request)
