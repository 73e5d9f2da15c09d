"""RunInstances, StopInstances, StartInstances and TerminateInstances with instances behind them.

AWS: RunInstances takes a launch template by name or id, answers the same reservation to the same ClientToken, refuses
images, subnets, groups and profiles that do not exist, and returns `pending` instances that become `running` later;
terminated ones pass through `shutting-down`, stopped ones through `stopping`. The first lose their disks; the others
keep them and their private addresses, and started again have other public ones.
Emulator: ignores launch templates, tokens, network interfaces and market options, accepts any id, and every instance is
`running` at once with nothing behind it, and its disk stays for ever.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from local.instances.fleet import Fleet, State
from local.instances.model import Instance, NoAddressLeftError
from local.patches.ec2.images import architecture_of
from local.patches.ec2.instance_types import vcpus_of
from local.patches.ec2.launch_request import LaunchRefusedError, LaunchRequest, read_request
from local.patches.ec2.wire import Params, Response, answer, is_dry_run, members, parameter, refuse
from local.patches.events import bus as events
from local.patches.faults.answers import DRY_RUN, MESSAGES, refused
from local.patches.iam import spot_role
from local.patches.iam.checks import caller_may
from local.patches.upstream import account_id, ec2, region_name
from local.state import StateDir

log = logging.getLogger("local.ec2")

CODES: dict[State, int] = {
    "pending": 0,
    "running": 16,
    "shutting-down": 32,
    "terminated": 48,
    "stopping": 64,
    "stopped": 80,
}
# This account encrypts disks by default with a key of its own.
DEFAULT_DISK_KEY = "arn:aws:kms:{}:{}:key/disks"
_ENDED = ("shutting-down", "terminated")


class Launcher:
    """The instance actions of EC2 on top of a fleet."""

    def __init__(self, fleet: Fleet, state: StateDir) -> None:
        self._fleet = fleet
        self._state = state
        self._tokens: dict[tuple[str, str, str], tuple[str, Response]] = {}
        fleet.on_state = self._state_changed
        fleet.on_spot_warning = self._spot_warning

    def run_instances(self, params: Params) -> Response:
        """RunInstances."""
        token = parameter(params, "ClientToken")
        scope = (account_id(), region_name(), token)
        fingerprint = hashlib.sha256(json.dumps(params, sort_keys=True, default=str).encode()).hexdigest()
        if token and scope in self._tokens:
            known, before = self._tokens[scope]
            if known == fingerprint:
                return before
            return refuse("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with "
                           f"arguments used in previous request(s) with ClientToken {token}.")  # fmt: skip
        try:
            request = read_request(params)
            if is_dry_run(params):
                return refused(DRY_RUN)
            count = self._admitted(request)
            created = [self._launch(request) for _ in range(count)]
        except LaunchRefusedError as error:
            return refused(error.code, str(error))
        except NoAddressLeftError as error:
            return refuse("InsufficientFreeAddressesInSubnet", str(error))
        items = "".join(ec2._instance_xml(record) for record in created)
        launched = answer(
            "RunInstances",
            f"<instancesSet>{items}</instancesSet><reservationId>r-{created[0]['InstanceId'][2:]}</reservationId>"
            f"<ownerId>{account_id()}</ownerId><groupSet/>",
        )
        if token:
            self._tokens[scope] = (fingerprint, launched)
        return launched

    def _admitted(self, request: LaunchRequest) -> int:
        """Return how many instances a request gets. Raises LaunchRefusedError when they are too few."""
        if request.spot and not spot_role.spot_permitted():
            raise LaunchRefusedError(spot_role.REFUSAL, MESSAGES[spot_role.REFUSAL])
        wanted = self._vcpus_running(request) + request.most * vcpus_of(request.instance_type)
        if wanted > self._fleet.config.vcpus(request.market):
            code = "MaxSpotInstanceCountExceeded" if request.spot else "VcpuLimitExceeded"
            raise LaunchRefusedError(code, MESSAGES[code])
        aim = {"zone": request.zone, "instance_type": request.instance_type, "market": request.market}
        fault = self._fleet.faults.hit("RunInstances", region_name(), **aim)
        if fault is None:
            return request.most
        if fault.available >= request.least:
            return min(request.most, fault.available)
        short = f"We currently do not have sufficient {request.instance_type} capacity in the Availability Zone "
        short += f"you requested ({request.zone})."
        raise LaunchRefusedError(fault.code, short if fault.code == "InsufficientInstanceCapacity" else "")

    @staticmethod
    def _vcpus_running(request: LaunchRequest) -> int:
        counted = [
            record
            for record in ec2._instances.values()
            if record["State"]["Name"] in ("pending", "running")
            and (record.get("InstanceLifecycle") == "spot") == request.spot
        ]
        return sum(vcpus_of(record["InstanceType"]) for record in counted)

    def terminate_instances(self, params: Params) -> Response:
        """TerminateInstances."""
        return self._switch(params, "TerminateInstances", self._fleet.terminate, "shutting-down", tuple(CODES))

    def stop_instances(self, params: Params) -> Response:
        """StopInstances."""
        return self._switch(params, "StopInstances", self._fleet.stop, "stopping", ("running", "stopping", "stopped"))

    def start_instances(self, params: Params) -> Response:
        """StartInstances."""
        return self._switch(params, "StartInstances", self._fleet.start, "pending", ("pending", "running", "stopped"))

    def _switch(
        self, params: Params, action: str, switch: Callable[[str], bool], then: State, allowed: Sequence[State]
    ) -> Response:
        """One unknown id, or one that is in no allowed state, refuses the whole call."""
        ids = members(params, "InstanceId")
        for instance_id in ids:
            if instance_id not in ec2._instances:
                return refuse("InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist")
            if (found := ec2._instances[instance_id]["State"]["Name"]) not in allowed:
                why = f"The instance '{instance_id}' is {found}, from where it cannot come to be {then}."
                return refuse("IncorrectInstanceState", why)
        items = ""
        for instance_id in ids:
            record = ec2._instances[instance_id]
            before = record["State"]
            if switch(instance_id):
                record["State"] = _state(then)
            now = record["State"]
            items += (
                f"<item><instanceId>{instance_id}</instanceId>"
                f"<previousState><code>{before['Code']}</code><name>{before['Name']}</name></previousState>"
                f"<currentState><code>{now['Code']}</code><name>{now['Name']}</name></currentState></item>"
            )
        return answer(action, f"<instancesSet>{items}</instancesSet>")

    def _launch(self, request: LaunchRequest) -> dict[str, Any]:
        region, account = region_name(), account_id()
        number = self._fleet.next_number(region)
        plan = self._fleet.plan
        private, public = plan.private(region, number), plan.public(region, number)
        record: dict[str, Any] = ec2._launch_instances_internal(
            image_id=request.image_id,
            instance_type=request.instance_type,
            subnet_id=request.subnet_id,
            count=1,
            key_name=request.key_name,
            user_data=request.user_data,
            sg_ids=request.group_ids,
            requested_private_ip=private,
            iam_profile=request.profile,
        )[0]
        instance_id = record["InstanceId"]
        record.update(
            State=_state("pending"),
            PublicIpAddress="",
            PublicDnsName="",
            Architecture=architecture_of(request.instance_type),
            Placement={"AvailabilityZone": request.zone, "Tenancy": "default"},
            InstanceLifecycle="spot" if request.spot else "",
            ClientToken=request.token,
            BandwidthWeighting=request.weighting,
            NotFoundAnswers=self._fleet.config.not_found_after_launch,
        )
        ec2._tags[instance_id] = [{"Key": key, "Value": value} for key, value in request.tags.items()]
        self._fleet.add(
            Instance(
                instance_id=instance_id,
                account=account,
                region=region,
                zone=request.zone,
                instance_type=request.instance_type,
                image_id=request.image_id,
                number=number,
                private_address=private,
                public_address=public if request.public else "",
                role=request.role,
                profile_arn=request.profile["Arn"] if request.profile else None,
                caps=self._fleet.caps_for(request.instance_type, region, request.tags),
                home=self._state.instances / instance_id,
                launch_number=self._fleet.launch_number(region),
                shutdown_minute_seconds=self._fleet.config.shutdown_minute_seconds,
                user_data=base64.b64decode(request.user_data).decode("utf-8", "replace"),
                tags=request.tags,
            )
        )
        if not request.names_disk_key and not caller_may("kms:CreateGrant", DEFAULT_DISK_KEY.format(region, account)):
            # EC2 finds that out after its answer.
            record["StateReason"] = ("Client.InternalError", "Client.InternalError: Client error on launch")
            self._fleet.terminate(instance_id)
        return record

    def _state_changed(self, instance: Instance, state: State) -> None:
        scoped = (instance.account, instance.region, instance.instance_id)
        record = ec2._instances._data.get(scoped)
        if record is not None and (state in _ENDED or record["State"]["Name"] not in _ENDED):
            record["State"] = _state(state)
            if state == "running":
                record["PublicIpAddress"] = instance.public_address
                record["PublicDnsName"] = f"ec2-{instance.public_address.replace('.', '-')}.local"
            if state == "stopped":
                record.update(PublicIpAddress="", PublicDnsName="")
            if state == "terminated":
                record.update(PublicIpAddress="", PrivateIpAddress="", _terminated_at=ec2.time.time())
                for mapping in record["BlockDeviceMappings"]:
                    ec2._volumes._data.pop((instance.account, instance.region, mapping["Ebs"]["VolumeId"]), None)
        self._emit(instance, "EC2 Instance State-change Notification", {"state": state})

    def _spot_warning(self, instance: Instance) -> None:
        self._emit(instance, "EC2 Spot Instance Interruption Warning", {"instance-action": "terminate"})

    def _emit(self, instance: Instance, detail_type: str, detail: dict[str, str]) -> None:
        arn = f"arn:aws:ec2:{instance.region}:{instance.account}:instance/{instance.instance_id}"
        detail = {"instance-id": instance.instance_id, **detail}
        events.emit(instance.account, instance.region, "aws.ec2", detail_type, detail, [arn])


def install(fleet: Fleet, state: StateDir) -> None:
    """Take over the instance actions."""
    launcher = Launcher(fleet, state)
    ec2._ACTION_MAP["RunInstances"] = launcher.run_instances
    ec2._ACTION_MAP["TerminateInstances"] = launcher.terminate_instances
    ec2._ACTION_MAP["StopInstances"] = launcher.stop_instances
    ec2._ACTION_MAP["StartInstances"] = launcher.start_instances
    ec2._ACTION_MAP["RebootInstances"] = lambda params: refuse(
        "UnsupportedOperation", "The local cloud stops and starts instances; it does not reboot them."
    )


def _state(name: State) -> dict[str, Any]:
    return {"Code": CODES[name], "Name": name}
