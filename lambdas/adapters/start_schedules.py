"""EventBridge Scheduler: schedules that start transfers, those that people add and those that were deployed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from botocore.exceptions import ClientError

from lambdas.core.intake.templates import ScheduleStart

# As of schedules that are deployed (infra/lib/constructs/transfer-starts.ts): after an hour a run is too late.
_RETRY = {"MaximumEventAgeInSeconds": 3_600, "MaximumRetryAttempts": 10}
_WRITTEN = {
    *("Name", "GroupName", "Description", "ScheduleExpression", "ScheduleExpressionTimezone", "StartDate", "EndDate"),
    *("FlexibleTimeWindow", "Target", "KmsKeyArn", "ActionAfterCompletion"),
}
_DETAIL_TYPE = "Scheduled Start"
_DEPLOYED_IN = "default"

Origin = Literal["deployed", "added", "foreign"]
"""`foreign`: it is in the group of those that people add, and does not do what these do."""


@dataclass(frozen=True)
class FoundSchedule:
    """A schedule as Scheduler has it; `request` is None of a foreign one, whose `target` says what it invokes."""

    name: str
    origin: Origin
    expression: str
    time_zone: str
    state: str
    target: str
    request: dict[str, Any] | None

    def to_document(self) -> dict[str, Any]:
        """A line of `--json`."""
        document: dict[str, Any] = {
            "name": self.name,
            "origin": self.origin,
            "expression": self.expression,
            "timeZone": self.time_zone,
            "state": self.state,
        }
        return document | ({"target": self.target} if self.request is None else {"request": self.request})


class StartSchedules:
    """Schedules over EventBridge Scheduler, the operator's or a `tenant`'s; names are those of infra/lib/names.ts."""

    def __init__(self, client: Any, deployment: str, state_machine: str, tenant: str | None = None) -> None:
        _, partition, _, region, account, *_ = state_machine.split(":")
        self._client, self._deployed = client, f"{deployment}-"
        function = f"{deployment}-start-from-schedule"
        # A tenant's lie in a group of their own, and reach his alias of the function alone.
        self._tenant, of_tenant = tenant, f"-{tenant}" if tenant else ""
        self.group = f"{deployment}-starts{of_tenant}"
        alias = f":{tenant}" if tenant else ""
        self._function = f"arn:{partition}:lambda:{region}:{account}:function:{function}{alias}"
        self._dead_letters = f"arn:{partition}:sqs:{region}:{account}:{function}-dead-letters"
        self._role = f"arn:{partition}:iam::{account}:role/{deployment}-starts{of_tenant}-{region}"

    def all(self) -> Iterator[FoundSchedule]:
        """Those that were deployed, then those of the group."""
        # Names of another deployment may begin like ours; what they invoke is its own.
        for one in self._listed(_DEPLOYED_IN, self._deployed):
            if one["Target"]["Arn"] == self._function and (found := self._find(one["Name"], _DEPLOYED_IN)):
                yield found
        for name in self.names():
            if found := self._find(name, self.group):
                yield found

    def names(self) -> Iterator[str]:
        """Of all schedules of the group, whoever has made them."""
        return (str(one["Name"]) for one in self._listed(self.group))

    def added(self, name: str) -> FoundSchedule | None:
        """One of the group."""
        return self._find(name, self.group)

    def deployed(self, name: str) -> FoundSchedule | None:
        """One of the settings, which are the operator's."""
        if self._tenant is not None:
            return None
        found = self._find(f"{self._deployed}{name}", _DEPLOYED_IN)
        return found if found is not None and found.target == self._function else None

    def add(self, start: ScheduleStart) -> bool:
        """Whether it is there now; False where another one has its name."""
        try:
            self._client.create_schedule(**self._written(start))
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConflictException":
                return False
            raise
        return True

    def change(self, start: ScheduleStart, state: str) -> None:
        """Scheduler forgets what an update leaves out, so all of it is written."""
        self._client.update_schedule(**self._written(start), State=state)

    def remove(self, name: str) -> None:
        """No run of it begins any more."""
        self._client.delete_schedule(Name=name, GroupName=self.group)

    def enabled(self) -> Iterator[str]:
        """Names of those of the settings that start transfers."""
        return (
            found.name
            for one in self._listed(_DEPLOYED_IN, self._deployed)
            if one["Target"]["Arn"] == self._function and (found := self._find(one["Name"], _DEPLOYED_IN))
            if found.state == "ENABLED"
        )

    def disable(self, name: str) -> None:
        """One of the settings starts nothing any more. Scheduler forgets what an update leaves out."""
        before = self._client.get_schedule(Name=f"{self._deployed}{name}", GroupName=_DEPLOYED_IN)
        kept = {key: value for key, value in before.items() if key in _WRITTEN}
        self._client.update_schedule(**kept, State="DISABLED")

    def _written(self, start: ScheduleStart) -> dict[str, Any]:
        detail = {
            "schedule": start.name,
            "group": self.group,
            "scheduledTime": "<aws.scheduler.scheduled-time>",
            "request": start.request,
        }
        return {
            "Name": start.name,
            "GroupName": self.group,
            "ScheduleExpression": start.expression,
            "ScheduleExpressionTimezone": start.time_zone,
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {
                "Arn": self._function,
                "RoleArn": self._role,
                "Input": json.dumps({"detail-type": _DETAIL_TYPE, "detail": detail}),
                "DeadLetterConfig": {"Arn": self._dead_letters},
                "RetryPolicy": _RETRY,
            },
        }

    def _listed(self, group: str, prefix: str | None = None) -> Iterator[dict[str, Any]]:
        asked = {"GroupName": group, **({"NamePrefix": prefix} if prefix else {})}
        for page in self._client.get_paginator("list_schedules").paginate(**asked):
            yield from page["Schedules"]

    def _find(self, name: str, group: str) -> FoundSchedule | None:
        try:
            schedule = self._client.get_schedule(Name=name, GroupName=group)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                return None
            raise
        return self._read(schedule, is_deployed=group == _DEPLOYED_IN)

    def _read(self, schedule: dict[str, Any], *, is_deployed: bool) -> FoundSchedule:
        name, target = str(schedule["Name"]), schedule["Target"]
        request = _request_of(target.get("Input", ""))
        is_ours = target["Arn"] == self._function and (is_deployed or target["RoleArn"] == self._role)
        origin: Origin = "deployed" if is_deployed else "added" if is_ours and request is not None else "foreign"
        return FoundSchedule(
            name=name.removeprefix(self._deployed) if is_deployed else name,
            origin=origin,
            expression=schedule["ScheduleExpression"],
            time_zone=schedule.get("ScheduleExpressionTimezone", "UTC"),
            state=schedule.get("State", "ENABLED"),
            target=target["Arn"],
            request=None if origin == "foreign" else request,
        )


def _request_of(text: str) -> dict[str, Any] | None:
    """The template of a schedule that was written here or by the deployment; None where somebody else wrote it."""
    try:
        request = json.loads(text)["detail"]["request"]
    except (ValueError, KeyError, TypeError):
        return None
    return request if isinstance(request, dict) else None
