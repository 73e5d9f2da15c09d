"""Schedules that people have added go before anything else, so that they start nothing while the stacks go."""

import json
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from cli import leaving
from cli.aws import Aws
from cli.exit_codes import ExitCode
from cli.leave.starts import start_ties
from cli.leave.tie import Tie
from cli.main import app
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_added_starts import DynamoAddedStarts
from tests.lambdas.core.intake.test_added_starts import start

WEST = "us-west-2"
TARGET = {"Arn": "arn:aws:lambda:us-west-2:1:function:any", "RoleArn": "arn:aws:iam::1:role/any"}


class Home:
    """What is asked of `Aws`."""

    region, deployment = WEST, "cpt"

    def client(self, service: str) -> Any:
        return boto3.client(cast(Any, service), region_name=WEST)


def schedule(name: str, group: str, **target: str) -> None:
    boto3.client("scheduler", region_name=WEST).create_schedule(
        Name=name,
        GroupName=group,
        ScheduleExpression="rate(1 hour)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target=cast(Any, {**TARGET, **target}),
    )


@mock_aws
def test_those_of_the_group_are_named_and_removed_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    client = boto3.client("scheduler", region_name=WEST)
    for group, name in (("cpt-starts", "nightly"), ("cpt-test-starts", "nightly"), ("cpt-starts-acme", "of-acme")):
        client.create_schedule_group(Name=group)
        schedule(name, group)
    order: list[str] = []

    def stop(_: Aws) -> list[Tie]:
        left = [one["GroupName"] for one in client.list_schedules()["Schedules"]]
        order.append(f"looked for transfers while {len(left)} schedules were there")
        return []

    monkeypatch.setattr(leaving, "home", lambda *, local: cast(Aws, Home()))
    monkeypatch.setattr(leaving, "running", stop)
    monkeypatch.setattr(leaving, "ties", lambda *_: [])
    looked = CliRunner().invoke(app, ["leave", "--json"])
    assert looked.exit_code == ExitCode.SUCCEEDED
    ties = [json.loads(line) for line in looked.stdout.splitlines()]
    assert [(one["status"], one["about"], one["byCpt"]) for one in ties] == [
        ("goes", "nightly", True),
        ("goes", "of-acme", True),
    ]
    assert CliRunner().invoke(app, ["leave", "--yes", "--json"]).exit_code == ExitCode.SUCCEEDED
    assert [one["GroupName"] for one in client.list_schedules()["Schedules"]] == ["cpt-test-starts"]
    # What they started meanwhile is seen by the last look.
    assert order[-1] == "looked for transfers while 1 schedules were there"


@mock_aws
def test_a_deployment_without_the_group_has_none() -> None:
    assert list(start_ties(cast(Aws, Home()))) == []


def rule(name: str, target: str, bus: str = "default") -> None:
    client = boto3.client("events", region_name=WEST)
    client.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps({"source": ["aws.s3"]}))
    client.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "1", "Arn": f"arn:aws:{target}"}])


def states() -> dict[str, str]:
    """Of all rules and schedules."""
    events, scheduler = boto3.client("events", region_name=WEST), boto3.client("scheduler", region_name=WEST)
    rules = [rule for bus in ("default", "cpt") for rule in events.list_rules(EventBusName=bus)["Rules"]]
    schedules = [*scheduler.list_schedules()["Schedules"]]
    return {str(one["Name"]): str(one["State"]) for one in (*rules, *schedules)}


@mock_aws
def test_what_the_settings_start_is_disabled_and_what_collects_is_stopped_and_others_are_left_alone() -> None:
    scheduler, sts = boto3.client("scheduler", region_name=WEST), boto3.client("sts", region_name=WEST)
    account = sts.get_caller_identity()["Account"]
    boto3.client("events", region_name=WEST).create_event_bus(Name="cpt")
    start = f"arn:aws:lambda:{WEST}:{account}:function:cpt-start-from-schedule"
    schedule("cpt-nightly", "default", Arn=start, Input='{"detail": {}}')
    schedule("cpt-test-nightly", "default", Arn=start.replace("cpt-start", "cpt-test-start"))
    scheduler.create_schedule_group(Name="cpt-windows")
    schedule("exports-1", "cpt-windows")
    rule("cpt-objects-exports", "sqs:us-west-2:1:cpt-arrivals")
    rule("cpt-objects-far", "sqs:us-west-2:1:cpt-arrivals", "cpt")
    rule("cpt-added-0123456789abcdef", "sqs:us-west-2:1:cpt-arrivals")
    rule("cpt-close-window", "lambda:us-west-2:1:function:cpt-close-window", "cpt")
    # Of a deployment that is called cpt-added, and of somebody else.
    rule("cpt-added-watch-ends", "lambda:us-west-2:1:function:cpt-added-watch-ends")
    rule("cpt-objects-theirs", "sqs:us-west-2:1:theirs")
    for tie in start_ties(cast(Aws, Home())):
        assert tie.undo is not None
        tie.undo()
    assert states() == {
        "cpt-nightly": "DISABLED",
        "cpt-test-nightly": "ENABLED",
        "cpt-objects-exports": "DISABLED",
        "cpt-objects-far": "DISABLED",
        "cpt-added-0123456789abcdef": "DISABLED",
        "cpt-close-window": "DISABLED",
        "cpt-added-watch-ends": "ENABLED",
        "cpt-objects-theirs": "ENABLED",
    }
    kept = scheduler.get_schedule(Name="cpt-nightly")
    assert (kept["Target"]["Arn"], kept["Target"]["Input"]) == (start, '{"detail": {}}')
    assert list(start_ties(cast(Aws, Home()))) == []


@mock_aws
def test_starts_by_objects_that_people_have_added_are_removed() -> None:
    keys = {"collection": "HASH", "item": "RANGE"}
    client = boto3.client("dynamodb", region_name=WEST)
    client.create_table(
        TableName="cpt-arrivals",
        KeySchema=cast(Any, [{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()]),
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )
    store = DynamoAddedStarts(Table(client, "cpt-arrivals"))
    for name in ("daily", "weekly"):
        assert store.put(store.get().with_(start(name)))
    ties = list(start_ties(cast(Aws, Home())))
    assert [(tie.status, tie.about) for tie in ties] == [("goes", "daily"), ("goes", "weekly")]
    for tie in ties:
        assert tie.undo is not None
        tie.undo()
    assert store.get().starts == []
