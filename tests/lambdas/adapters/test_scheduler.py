"""The schedule of a window: when it runs, what it invokes, and that a second one of its name changes nothing."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.scheduler import WindowSchedules

MACHINE = "arn:aws-cn:states:cn-north-1:123456789012:stateMachine:cpt-transfer"


class Scheduler:
    """Notes what it is asked, and answers with an error where it has one."""

    def __init__(self, code: str | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self._code = code

    def create_schedule(self, **asked: Any) -> None:
        self.asked.append(asked)
        if self._code:
            error: Any = {"Error": {"Code": self._code, "Message": "no"}}
            raise ClientError(error, "CreateSchedule")


def made(client: Scheduler) -> dict[str, Any]:
    WindowSchedules(client, "cpt", MACHINE).once("exports-7", 1_795_900_399.2, {"start": "exports", "number": 7})
    [asked] = client.asked
    return asked


def test_it_runs_once_not_before_its_time_and_is_gone_then() -> None:
    asked = made(Scheduler())
    assert (asked["Name"], asked["GroupName"]) == ("exports-7", "cpt-windows")
    # The next whole second: a window is never shorter than it says.
    assert asked["ScheduleExpression"] == "at(2026-11-28T21:13:20)"
    assert asked["ActionAfterCompletion"] == "DELETE"
    assert asked["FlexibleTimeWindow"] == {"Mode": "OFF"}


def test_it_invokes_the_deployments_function_by_its_role_in_any_partition() -> None:
    target = made(Scheduler())["Target"]
    assert target["Arn"] == "arn:aws-cn:lambda:cn-north-1:123456789012:function:cpt-close-window"
    assert target["RoleArn"] == "arn:aws-cn:iam::123456789012:role/cpt-windows-cn-north-1"
    assert target["DeadLetterConfig"]["Arn"] == "arn:aws-cn:sqs:cn-north-1:123456789012:cpt-close-window-dead-letters"
    assert json.loads(target["Input"])["detail"] == {"start": "exports", "number": 7}


def test_one_of_its_name_is_fine_and_any_other_refusal_is_not() -> None:
    made(Scheduler("ConflictException"))
    with pytest.raises(ClientError, match="ValidationException"):
        made(Scheduler("ValidationException"))
