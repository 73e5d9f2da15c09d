"""Schedules that people add: what is asked of Scheduler, in any partition; tests/cli has the commands over it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.start_schedules import StartSchedules
from lambdas.core.intake.templates import ScheduleStart

MACHINE = "arn:aws-cn:states:cn-north-1:123456789012:stateMachine:cpt-transfer"
FUNCTION = "arn:aws-cn:lambda:cn-north-1:123456789012:function:cpt-start-from-schedule"
ROLE = "arn:aws-cn:iam::123456789012:role/cpt-starts-cn-north-1"
START = ScheduleStart(name="nightly", expression="rate(1 day)", time_zone="Asia/Shanghai", request={"source": {}})


class Scheduler:
    """Keeps what it is given, in pages of one, and forgets what an update leaves out."""

    def __init__(self, refusal: str | None = None) -> None:
        self.kept: dict[tuple[str, str], dict[str, Any]] = {}
        self._refusal = refusal

    def create_schedule(self, **asked: Any) -> None:
        if self._refusal:
            raise ClientError({"Error": {"Code": self._refusal, "Message": "no"}}, "CreateSchedule")
        self.kept[asked["GroupName"], asked["Name"]] = asked

    def update_schedule(self, **asked: Any) -> None:
        self.kept[asked["GroupName"], asked["Name"]] = asked

    def delete_schedule(self, **asked: str) -> None:
        del self.kept[asked["GroupName"], asked["Name"]]

    def get_schedule(self, **asked: str) -> dict[str, Any]:
        found = self.kept.get((asked["GroupName"], asked["Name"]))
        if found is None:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "no"}}, "GetSchedule")
        return found

    def get_paginator(self, operation: str) -> "Scheduler":
        assert operation == "list_schedules"
        return self

    def paginate(self, **asked: str) -> Iterator[dict[str, Any]]:
        for (group, name), one in list(self.kept.items()):
            if group == asked["GroupName"] and name.startswith(asked.get("NamePrefix", "")):
                yield {"Schedules": [{"Name": name, "Target": {"Arn": one["Target"]["Arn"]}}]}


def test_one_that_is_added_is_in_the_deployments_group_with_its_role_and_function() -> None:
    client = Scheduler()
    assert StartSchedules(client, "cpt", MACHINE).add(START)
    asked = client.kept["cpt-starts", "nightly"]
    assert (asked["ScheduleExpression"], asked["ScheduleExpressionTimezone"]) == ("rate(1 day)", "Asia/Shanghai")
    target = asked["Target"]
    assert (target["Arn"], target["RoleArn"]) == (FUNCTION, ROLE)
    assert target["DeadLetterConfig"]["Arn"].startswith(
        "arn:aws-cn:sqs:cn-north-1:123456789012:cpt-start-from-schedule"
    )
    assert json.loads(target["Input"])["detail"]["group"] == "cpt-starts"


def test_a_name_that_is_taken_is_an_answer_and_any_other_refusal_is_not() -> None:
    assert not StartSchedules(Scheduler("ConflictException"), "cpt", MACHINE).add(START)
    with pytest.raises(ClientError, match="ValidationException"):
        StartSchedules(Scheduler("ValidationException"), "cpt", MACHINE).add(START)


def test_a_change_keeps_the_state_that_somebody_has_set() -> None:
    client = Scheduler()
    schedules = StartSchedules(client, "cpt", MACHINE)
    schedules.add(START)
    schedules.change(START, "DISABLED")
    found = schedules.added("nightly")
    assert found is not None
    assert (found.origin, found.state) == ("added", "DISABLED")


def test_one_that_goes_while_all_are_listed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Scheduler()
    schedules = StartSchedules(client, "cpt", MACHINE)
    for name in ("first", "second"):
        schedules.add(START.model_copy(update={"name": name}))
    found = schedules.all()
    assert next(found).name == "first"
    schedules.remove("second")
    assert list(found) == []
