"""Schedules that run once: what Scheduler refuses of them, whom it asks, and that they are gone afterwards."""

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from tests.local.conftest import Acting, noted
from tests.local.test_events import ROLE

HOME_ACCOUNT = "arn:aws:{service}:us-west-2:000000000000:{name}"
ROLE_ARN = f"{ROLE}/probe-scheduler"


@pytest.fixture(scope="module", autouse=True)
def group(cloud: LocalCloud) -> Iterator[None]:
    cloud.client("scheduler").create_schedule_group(Name="windows")
    yield
    cloud.client("scheduler").delete_schedule_group(Name="windows")


def at(seconds: float) -> str:
    return f"at({datetime.now(UTC) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S})"


def schedule(
    cloud: LocalCloud,
    expression: str,
    role: str = ROLE_ARN,
    client: Any = None,
    group: str = "windows",
    **detail: Any,
) -> str:
    name = f"s-{uuid.uuid4()}"
    target = {
        "Arn": cloud.outputs["probe-control"]["FunctionArn"],
        "RoleArn": role,
        "Input": json.dumps({"action": "note", "detail": detail}),
    }
    (client or cloud.client("scheduler")).create_schedule(
        Name=name,
        GroupName=group,
        ScheduleExpression=expression,
        FlexibleTimeWindow={"Mode": "OFF"},
        ActionAfterCompletion="DELETE",
        Target=target,
    )
    return name


def names(cloud: LocalCloud) -> list[str]:
    pages = cloud.client("scheduler").list_schedules(GroupName="windows")["Schedules"]
    return [one["Name"] for one in pages]


def test_a_schedule_that_is_due_runs_once_and_is_gone(cloud: LocalCloud) -> None:
    mark = str(uuid.uuid4())
    name = schedule(cloud, at(3), mark=mark)
    assert name in names(cloud)
    assert not noted(cloud, mark=mark)
    cloud.wait_for(lambda: noted(cloud, mark=mark), 15)
    cloud.wait_for(lambda: name not in names(cloud), 5)
    assert len(noted(cloud, mark=mark)) == 1


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        pytest.param(at(-60), "in the past", id="a minute ago"),
        ("at(2126-11-28T20:00)", "Invalid Schedule Expression"),
        ("at(2126-11-28T20:00:00Z)", "Invalid Schedule Expression"),
        ("every minute", "Invalid Schedule Expression"),
    ],
)
def test_a_time_that_does_not_come_is_refused(cloud: LocalCloud, expression: str, why: str) -> None:
    with pytest.raises(ClientError, match=why) as refused:
        schedule(cloud, expression)
    assert refused.value.response["Error"]["Code"] == "ValidationException"


@pytest.mark.parametrize("role", ["probe-function", "nobody"])
def test_a_role_that_scheduler_may_not_assume_is_refused(cloud: LocalCloud, role: str) -> None:
    with pytest.raises(ClientError, match="must allow AWS EventBridge Scheduler to assume"):
        schedule(cloud, at(3600), f"{ROLE}/{role}")


@pytest.mark.parametrize(("key", "trusted"), [("aws:SourceArn", "schedule-group/windows"), ("aws:SourceAccount", "")])
def test_a_role_that_trusts_one_group_serves_no_schedule_of_another(cloud: LocalCloud, key: str, trusted: str) -> None:
    value = HOME_ACCOUNT.format(service="scheduler", name=trusted) if trusted else "111111111111"
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": "scheduler.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {key: value}},
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    name = f"trusting-{uuid.uuid4()}"
    role = cloud.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
    if trusted:
        schedule(cloud, at(3600), role)
    with pytest.raises(ClientError, match="must allow AWS EventBridge Scheduler to assume"):
        schedule(cloud, at(3600), role, group="default")


def test_who_changes_a_schedule_needs_its_role_too(cloud: LocalCloud, acting: Acting) -> None:
    name = schedule(cloud, at(3600))
    on = HOME_ACCOUNT.format(service="scheduler", name="schedule/windows/*")
    client = acting([{"Effect": "Allow", "Action": "scheduler:*", "Resource": on}], "scheduler")
    found = client.get_schedule(Name=name, GroupName="windows")
    changed = {key: found[key] for key in ("Name", "GroupName", "FlexibleTimeWindow", "Target")}
    with pytest.raises(ClientError) as refused:
        client.update_schedule(**changed, ScheduleExpression="rate(1 minute)")
    assert refused.value.response["Error"]["Code"] == "AccessDeniedException"
    client.delete_schedule(Name=name, GroupName="windows")


@pytest.mark.parametrize(
    ("group", "passed", "service", "may"),
    [
        ("windows", ROLE_ARN, "scheduler.amazonaws.com", True),
        ("default", ROLE_ARN, "scheduler.amazonaws.com", False),
        ("windows", f"{ROLE}/another", "scheduler.amazonaws.com", False),
        ("windows", ROLE_ARN, "lambda.amazonaws.com", False),
    ],
)
def test_who_makes_a_schedule_needs_its_group_and_its_role(
    cloud: LocalCloud, acting: Acting, group: str, passed: str, service: str, may: bool
) -> None:
    client = acting(
        [
            {
                "Effect": "Allow",
                "Action": "scheduler:CreateSchedule",
                "Resource": HOME_ACCOUNT.format(service="scheduler", name=f"schedule/{group}/*"),
            },
            {
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": passed,
                "Condition": {"StringEquals": {"iam:PassedToService": service}},
            },
        ],
        "scheduler",
    )
    if may:
        name = schedule(cloud, at(3600), client=client)
        cloud.client("scheduler").delete_schedule(Name=name, GroupName="windows")
        return
    with pytest.raises(ClientError) as refused:
        schedule(cloud, at(3600), client=client)
    assert refused.value.response["Error"]["Code"] == "AccessDeniedException"
