"""Run Command on real instances.

AWS: a command goes to instances that are registered (`InvalidInstanceId` before), runs as root, is killed as a process
group at its executionTimeout, keeps 24 000 characters of each output, passes Pending → InProgress → Success | Failed |
TimedOut | Cancelled, and puts an event on each change; GetCommandInvocation may not find a command it has just
accepted. An agent has few workers (`workers.py`). CancelCommand keeps a command that waits from running; of one that
runs it promises nothing, and here it runs on.
Emulator: takes every known instance as registered, ignores timeouts, keeps all output, puts no events, lists no
invocations.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from local.facts import fact
from local.instances.fleet import Fleet
from local.instances.model import Instance
from local.patches.events import bus as events
from local.patches.replace import override
from local.patches.ssm import agents as ssm_agents
from local.patches.ssm import documents as ssm_documents
from local.patches.ssm.documents import DocumentError, Script
from local.patches.ssm.workers import Workers
from local.patches.upstream import account_id, ec2, region_name, responses, scoped_dict, ssm

log = logging.getLogger("local.ssm")

OUTPUT_CHARACTERS = fact("ssm-output-characters")
ERROR_CHARACTERS = fact("ssm-error-characters")
LIST_CHARACTERS = fact("ssm-listed-characters")
MOST_INSTANCES = fact("ssm-command-instances")
CODE_TIMED_OUT = 137  # what the agent reports for a command it killed
DEFAULT_DELIVERY_SECONDS = 3600
# What a fault may say of a command that never reaches its agent: status and details.
NEVER_RUN = {
    "DeliveryTimedOut": ("TimedOut", "Delivery Timed Out"),
    "Undeliverable": ("Failed", "Undeliverable"),
}
_GOING_ON = ("Pending", "InProgress", "Cancelling")

Json = dict[str, Any]
_handle_request = ssm.handle_request


class RunCommand:
    """The Run Command actions of SSM on top of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._commands = scoped_dict()
        self._workers: dict[str, Workers] = {}
        self._guard = threading.Lock()
        self.actions = {
            **ssm_documents.ACTIONS,
            "SendCommand": self._send,
            "CancelCommand": self._cancel,
            "GetCommandInvocation": self._get,
            "ListCommandInvocations": self._list_invocations,
            "ListCommands": self._list_commands,
            "DescribeInstanceInformation": self._describe_instances,
        }

    async def handle(self, method: str, path: str, headers: Json, body: bytes, query: Json) -> Any:
        """Answer the actions above, leave the others to the emulator."""
        action = self.actions.get(headers.get("x-amz-target", "").rpartition(".")[2])
        if action is None:
            return await _handle_request(method, path, headers, body, query)
        try:
            return responses.json_response(action(json.loads(body or b"{}")))
        except DocumentError as error:
            return responses.error_response_json(error.code, str(error), 400)

    def _send(self, data: Json) -> Json:
        document = ssm_documents.find(data["DocumentName"])
        script = ssm_documents.script_of(document["Content"], data.get("Parameters") or {})
        ids = data.get("InstanceIds") or self._targets(data.get("Targets") or [])
        if not 1 <= len(ids) <= MOST_INSTANCES:
            raise DocumentError("ValidationException", f"InstanceIds: 1 to {MOST_INSTANCES} instances, not {len(ids)}")
        instances = [self._online(instance_id) for instance_id in ids]
        faults = [self._fleet.faults.hit("SendCommand", region_name(), document=data["DocumentName"]) for _ in ids]
        for fault in faults:
            if fault and fault.code != "TimedOut" and fault.code not in NEVER_RUN:
                raise DocumentError(fault.code, "Spoiled by a script of the local cloud.")
        now = time.time()
        command_id = str(uuid.uuid4())
        command: Json = {
            "CommandId": command_id,
            "DocumentName": data["DocumentName"],
            "DocumentVersion": "$DEFAULT",
            "Comment": data.get("Comment", ""),
            "Parameters": data.get("Parameters") or {},
            "InstanceIds": ids,
            "RequestedDateTime": now,
            "ExpiresAfter": now + data.get("TimeoutSeconds", DEFAULT_DELIVERY_SECONDS) + script.timeout,
            "TimeoutSeconds": data.get("TimeoutSeconds", DEFAULT_DELIVERY_SECONDS),
            "Status": "Pending",
            "StatusDetails": "Pending",
            "TargetCount": len(ids),
            "CompletedCount": 0,
            "ErrorCount": 0,
            "Invocations": {},
            "Hidden": self._fleet.config.invocation_does_not_exist,
        }
        self._commands[command_id] = command
        pending = _public(command)
        for instance, fault in zip(instances, faults, strict=True):
            invocation: Json = {"Status": "Pending", "ResponseCode": -1, "stdout": "", "stderr": "", "start": ""}
            command["Invocations"][instance.instance_id] = invocation
            if fault and fault.code in NEVER_RUN:
                self._advance(command, instance, invocation, *NEVER_RUN[fault.code])
                continue
            arguments = (command, instance, invocation, script)
            run = self._time_out if fault else self._wait
            threading.Thread(target=run, args=arguments, name=f"ssm-{command_id[:8]}", daemon=True).start()
        return {"Command": pending}

    def _time_out(self, command: Json, instance: Instance, invocation: Json, _script: Script) -> None:
        """Record a command that hangs as timed out, without the wait."""
        self._advance(command, instance, invocation, "InProgress")
        invocation.update(start=_iso(), end=_iso(), ResponseCode=CODE_TIMED_OUT)
        self._advance(command, instance, invocation, "TimedOut")

    def _workers_of(self, instance: Instance) -> Workers:
        with self._guard:
            busy = self._fleet.config.ssm_busy_seconds
            return self._workers.setdefault(instance.instance_id, Workers(busy))

    def _wait(self, command: Json, instance: Instance, invocation: Json, script: Script) -> None:
        """Run a command once its agent has a worker for it, if that is in time."""
        workers = self._workers_of(instance)
        seconds = command["TimeoutSeconds"] * self._fleet.config.delivery_minute_seconds / 60
        turn = workers.begin(seconds, lambda: invocation["Status"] == "Cancelled")
        if turn == "late":
            log.warning("%s on %s was not started in time", command["DocumentName"], instance.instance_id)
            self._advance(command, instance, invocation, *NEVER_RUN["DeliveryTimedOut"])
        if turn != "begins":
            return
        try:
            self._run(command, instance, invocation, script)
        finally:
            workers.end()

    def _cancel(self, data: Json) -> Json:
        command = self._commands.get(data["CommandId"])
        if command is None:
            raise DocumentError("InvalidCommandId", "")
        for instance_id in data.get("InstanceIds") or command["InstanceIds"]:
            invocation, instance = command["Invocations"].get(instance_id), self._fleet.get(instance_id)
            if invocation is None or instance is None:
                continue
            if invocation["Status"] == "Pending":
                self._advance(command, instance, invocation, "Cancelled")
                self._workers_of(instance).look_again()
            elif invocation["Status"] == "InProgress":
                self._advance(command, instance, invocation, "Cancelling")
        return {}

    def _run(self, command: Json, instance: Instance, invocation: Json, script: Script) -> None:
        self._advance(command, instance, invocation, "InProgress")
        started = time.monotonic()
        invocation["start"] = _iso()
        environment = {
            **script.environment,
            "AWS_SSM_INSTANCE_ID": instance.instance_id,
            "AWS_SSM_REGION_NAME": instance.region,
        }
        try:
            result = self._fleet.backend.run(instance, script.text, environment, script.timeout)
        except (OSError, KeyError) as error:  # the instance ended before its command began
            log.warning("command %s on %s: %s", command["CommandId"], instance.instance_id, error)
            self._advance(command, instance, invocation, "Failed")
            return
        invocation.update(
            stdout=result.stdout[:OUTPUT_CHARACTERS],
            stderr=result.stderr[:ERROR_CHARACTERS],
            ResponseCode=CODE_TIMED_OUT if result.timed_out else result.code,
            end=_iso(),
            elapsed=f"PT{time.monotonic() - started:.3f}S",
        )
        if result.timed_out:
            self._advance(command, instance, invocation, "TimedOut")
        else:
            self._advance(command, instance, invocation, "Success" if result.code == 0 else "Failed")

    def _advance(
        self, command: Json, instance: Instance, invocation: Json, status: str, details: str | None = None
    ) -> None:
        if invocation["Status"] == "Cancelling" and status not in _GOING_ON:
            status, details = "Cancelled", None
        invocation.update(Status=status, StatusDetails=details or _details(status))
        states = [item["Status"] for item in command["Invocations"].values()]
        command["CompletedCount"] = sum(state not in _GOING_ON for state in states)
        command["ErrorCount"] = sum(state in ("Failed", "TimedOut") for state in states)
        if command["CompletedCount"] < command["TargetCount"]:
            command["Status"] = "InProgress"
        else:
            ended = ("Failed", "TimedOut", "Cancelled")
            command["Status"] = next((state for state in ended if state in states), "Success")
        command["StatusDetails"] = command["Status"]
        detail = {
            "command-id": command["CommandId"],
            "document-name": command["DocumentName"],
            "instance-id": instance.instance_id,
            "requested-date-time": datetime.fromtimestamp(command["RequestedDateTime"], UTC).isoformat(),
            "status": status,
        }
        arn = f"arn:aws:ec2:{instance.region}:{instance.account}:instance/{instance.instance_id}"
        kind = "EC2 Command Invocation Status-change Notification"
        events.emit(instance.account, instance.region, "aws.ssm", kind, detail, [arn])

    def _online(self, instance_id: str) -> Instance:
        instance = self._fleet.get(instance_id)
        if instance is None or not instance.online or instance.region != region_name():
            raise DocumentError(
                "InvalidInstanceId", f"Instances [[{instance_id}]] not in a valid state for account {account_id()}"
            )
        return instance

    def _targets(self, targets: list[Json]) -> list[str]:
        here = [item for item in self._fleet.live() if item.region == region_name() and item.online]
        return [item.instance_id for item in here if all(_matches(item, target) for target in targets)]

    def _get(self, data: Json) -> Json:
        command = self._commands.get(data["CommandId"])
        invocation = (command or {}).get("Invocations", {}).get(data["InstanceId"])
        if command is None or invocation is None or command["Hidden"] > 0:
            if command is not None:
                command["Hidden"] -= 1
            raise DocumentError("InvocationDoesNotExist", "")
        return {
            "CommandId": command["CommandId"],
            "InstanceId": data["InstanceId"],
            "Comment": command["Comment"],
            "DocumentName": command["DocumentName"],
            "DocumentVersion": command["DocumentVersion"],
            "PluginName": "runShellScript",
            "ResponseCode": invocation["ResponseCode"],
            "ExecutionStartDateTime": invocation["start"],
            "ExecutionElapsedTime": invocation.get("elapsed", ""),
            "ExecutionEndDateTime": invocation.get("end", ""),
            "Status": invocation["Status"],
            "StatusDetails": invocation.get("StatusDetails", invocation["Status"]),
            "StandardOutputContent": invocation["stdout"],
            "StandardErrorContent": invocation["stderr"],
        }

    def _list_invocations(self, data: Json) -> Json:
        found = []
        for command in self._commands.values():
            if command["Hidden"] > 0:
                command["Hidden"] -= 1
                continue
            for instance_id, invocation in command["Invocations"].items():
                if data.get("CommandId", command["CommandId"]) != command["CommandId"]:
                    continue
                if data.get("InstanceId", instance_id) != instance_id:
                    continue
                item = {
                    "CommandId": command["CommandId"],
                    "InstanceId": instance_id,
                    "DocumentName": command["DocumentName"],
                    "RequestedDateTime": command["RequestedDateTime"],
                    "Status": invocation["Status"],
                    "StatusDetails": invocation.get("StatusDetails", invocation["Status"]),
                    "CommandPlugins": [],
                }
                if data.get("Details"):
                    item["CommandPlugins"] = [
                        {
                            "Name": "runShellScript",
                            "Status": invocation["Status"],
                            "ResponseCode": invocation["ResponseCode"],
                            "Output": invocation["stdout"][:LIST_CHARACTERS],
                        }
                    ]
                found.append(item)
        return {"CommandInvocations": found}

    def _list_commands(self, data: Json) -> Json:
        wanted = data.get("CommandId")
        return {"Commands": [_public(item) for item in self._commands.values() if wanted in (None, item["CommandId"])]}

    def _describe_instances(self, data: Json) -> Json:
        return ssm_agents.describe(self._fleet, data)


def install(fleet: Fleet) -> None:
    """Put Run Command in front of the emulator's SSM."""
    override(ssm, handle_request=RunCommand(fleet).handle)


def _matches(instance: Instance, target: Json) -> bool:
    key, values = target["Key"], target["Values"]
    if key == "InstanceIds":
        return instance.instance_id in values
    tags = {
        tag["Key"]: tag["Value"]
        for tag in ec2._tags._data.get((instance.account, instance.region, instance.instance_id), [])
    }
    return key.startswith("tag:") and tags.get(key[4:]) in values


def _public(command: Json) -> Json:
    return {key: value for key, value in command.items() if key not in ("Invocations", "Hidden")}


def _details(status: str) -> str:
    return "Execution Timed Out" if status == "TimedOut" else status


def _iso() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
