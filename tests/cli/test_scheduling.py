"""`cpt schedule` against a Scheduler in memory; tests/e2e has it against a deployment, with IAM enforced."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from typer.testing import CliRunner, Result

from cli import scheduling
from cli.aws import Aws
from cli.exit_codes import ExitCode
from cli.main import app
from tests.cli.transfers import REQUEST, SETTINGS

WEST, ACCOUNT = "us-west-2", "123456789012"
FUNCTION = f"arn:aws:lambda:{WEST}:{ACCOUNT}:function:cpt-start-from-schedule"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/cpt-starts-{WEST}"


class Home:
    """What the commands ask of `Aws`: moto's Scheduler, and the settings of the deployment's functions."""

    region, deployment, tenant = WEST, "cpt", None

    def client(self, service: str) -> Any:
        return self if service == "lambda" else boto3.client(cast(Any, service), region_name=WEST)

    def get_function_configuration(self, **_: str) -> dict[str, Any]:
        return {"Environment": {"Variables": SETTINGS}}


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(scheduling, "home", lambda *, local: cast(Aws, Home()))
    with mock_aws():
        client = boto3.client("scheduler", region_name=WEST)
        client.create_schedule_group(Name="cpt-starts")
        yield client


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(REQUEST))
    return path


def cpt(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["schedule", *map(str, words)])


def add(path: Path, *words: str, name: str = "nightly") -> Result:
    return cpt("add", name, path, *(words or ("--expression", "cron(30 2 * * ? *)")))


def listed() -> list[dict[str, Any]]:
    return [json.loads(line) for line in cpt("list", "--json").stdout.splitlines()]


def by_hand(client: Any, name: str, group: str, function: str = FUNCTION, role: str = ROLE, **detail: Any) -> None:
    client.create_schedule(
        Name=name,
        GroupName=group,
        ScheduleExpression="rate(1 hour)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": function, "RoleArn": role, "Input": json.dumps({"detail": detail})},
    )


def test_what_is_added_invokes_the_deployments_function_by_its_role(scheduler: Any, request_file: Path) -> None:
    answer = add(request_file, "--expression", "cron(30 2 * * ? *)", "--time-zone", "Europe/Berlin")
    assert answer.exit_code == ExitCode.SUCCEEDED, answer.output
    assert answer.stdout == "added nightly: cron(30 2 * * ? *) in Europe/Berlin\n"
    found = scheduler.get_schedule(Name="nightly", GroupName="cpt-starts")
    assert (found["ScheduleExpression"], found["ScheduleExpressionTimezone"]) == ("cron(30 2 * * ? *)", "Europe/Berlin")
    assert (found["Target"]["Arn"], found["Target"]["RoleArn"]) == (FUNCTION, ROLE)
    assert found["Target"]["DeadLetterConfig"]["Arn"].endswith(":cpt-start-from-schedule-dead-letters")
    assert json.loads(found["Target"]["Input"]) == {
        "detail-type": "Scheduled Start",
        "detail": {
            "schedule": "nightly",
            "group": "cpt-starts",
            "scheduledTime": "<aws.scheduler.scheduled-time>",
            "request": REQUEST,
        },
    }


def test_a_rate_begins_at_once_and_the_answer_says_so(scheduler: Any, request_file: Path) -> None:
    assert "its first transfer starts at once" in add(request_file, "--expression", "rate(6 hours)").stdout


@pytest.mark.parametrize(
    ("request_change", "words", "says"),
    [
        ({}, ("--expression", "every day"), '--expression: "every day" is not valid; write "cron('),
        (
            {},
            ("--expression", "rate(1 day)", "--time-zone", "Mars"),
            '--time-zone: "Mars" is not known; write the name',
        ),
        ({"name": "x"}, ("--expression", "rate(1 day)"), '$.name: "x" is not valid in a template; leave it out'),
        ({"sourse": 1}, ("--expression", "rate(1 day)"), "$.sourse: is not a known key"),
        ({"relays": {"pairs": 9}}, ("--expression", "rate(1 day)"), "$.relays.pairs: 9 is more than this deployment's"),
    ],
)
def test_what_could_not_work_is_refused_before_anything_is_written(
    scheduler: Any, request_file: Path, request_change: dict[str, Any], words: tuple[str, ...], says: str
) -> None:
    request_file.write_text(json.dumps({**REQUEST, **request_change}))
    answer = add(request_file, *words)
    assert (answer.exit_code, listed()) == (ExitCode.REQUEST, [])
    assert f"InvalidRequest: {says}" in answer.stderr


def test_a_name_is_given_once_and_one_of_the_settings_is_taken(scheduler: Any, request_file: Path) -> None:
    by_hand(scheduler, "cpt-weekly", "default", request=REQUEST)
    assert add(request_file).exit_code == ExitCode.SUCCEEDED
    again = add(request_file, "--expression", "rate(1 hour)")
    assert (again.exit_code, "was added before" in again.stderr) == (ExitCode.REQUEST, True)
    taken = add(request_file, name="weekly")
    assert (taken.exit_code, "cpt.starts.schedules" in taken.stderr) == (ExitCode.REQUEST, True)
    assert {(one["name"], one["origin"], one["expression"]) for one in listed()} == {
        ("nightly", "added", "cron(30 2 * * ? *)"),
        ("weekly", "deployed", "rate(1 hour)"),
    }


def test_a_change_keeps_what_is_not_given_and_is_judged_as_a_whole(scheduler: Any, request_file: Path) -> None:
    add(request_file, "--expression", "cron(30 2 * * ? *)", "--time-zone", "Europe/Berlin")
    assert cpt("change", "nightly", "--expression", "cron(0 4 * * ? *)").exit_code == ExitCode.SUCCEEDED
    [now] = listed()
    assert (now["expression"], now["timeZone"], now["request"]) == ("cron(0 4 * * ? *)", "Europe/Berlin", REQUEST)
    request_file.write_text(json.dumps({**REQUEST, "whenBusy": "wait"}))
    changed = cpt("change", "nightly", request_file, "--json")
    assert json.loads(changed.stdout)["request"] == {**REQUEST, "whenBusy": "wait"} == listed()[0]["request"]
    request_file.write_text(json.dumps({**REQUEST, "resume": True}))
    assert cpt("change", "nightly", request_file).exit_code == ExitCode.REQUEST
    assert listed()[0]["request"] == {**REQUEST, "whenBusy": "wait"}


def test_what_is_removed_is_gone(scheduler: Any, request_file: Path) -> None:
    add(request_file)
    assert cpt("remove", "nightly").stdout == "removed nightly; it starts nothing any more\n"
    assert listed() == []
    assert cpt("list").stdout == "no schedule starts transfers\n"


@pytest.mark.parametrize("command", ["change", "remove"])
def test_one_of_the_settings_and_one_that_is_not_there_are_refused(scheduler: Any, command: str) -> None:
    by_hand(scheduler, "cpt-weekly", "default", request=REQUEST)
    deployed, absent = cpt(command, "weekly"), cpt(command, "nightly")
    assert (deployed.exit_code, absent.exit_code) == (ExitCode.REQUEST, ExitCode.REQUEST)
    assert "change cpt.starts.schedules.weekly in cdk.json, and deploy" in deployed.stderr
    assert "cpt schedule list shows all" in absent.stderr
    assert [one["name"] for one in listed()] == ["weekly"]


def test_schedules_of_another_deployment_whose_name_begins_alike_are_its_own(
    scheduler: Any, request_file: Path
) -> None:
    other = FUNCTION.replace("cpt-start", "cpt-test-start")
    by_hand(scheduler, "cpt-test-nightly", "default", other, request=REQUEST)
    assert listed() == []
    assert add(request_file, name="test-nightly").exit_code == ExitCode.SUCCEEDED


@pytest.mark.parametrize(
    ("function", "role", "detail"),
    [
        (FUNCTION.replace("cpt-start", "other-start"), ROLE, {"request": REQUEST}),
        (FUNCTION, ROLE.replace("cpt-starts", "admin"), {"request": REQUEST}),
        (FUNCTION, ROLE, {}),
    ],
)
def test_what_somebody_else_put_into_the_group_is_named_and_not_changed(
    scheduler: Any, function: str, role: str, detail: dict[str, Any]
) -> None:
    by_hand(scheduler, "odd", "cpt-starts", function, role, **detail)
    [one] = listed()
    assert (one["origin"], one["target"]) == ("foreign", function)
    assert "foreign" in cpt("list").stdout
    changed = cpt("change", "odd", "--expression", "rate(1 day)")
    assert (changed.exit_code, "was not made by cpt" in changed.stderr) == (ExitCode.REQUEST, True)
    assert cpt("remove", "odd").exit_code == ExitCode.SUCCEEDED


def test_what_scheduler_alone_can_judge_is_told_by_option(
    monkeypatch: pytest.MonkeyPatch, scheduler: Any, request_file: Path
) -> None:
    def refuse(*_: Any) -> None:
        raise ClientError({"Error": {"Code": "ValidationException", "Message": "Invalid Schedule"}}, "CreateSchedule")

    monkeypatch.setattr("lambdas.adapters.start_schedules.StartSchedules.add", refuse)
    answer = add(request_file, "--expression", "cron(30 2 31 2 ? *)")
    assert answer.exit_code == ExitCode.REQUEST
    assert "--expression: 'cron(30 2 31 2 ? *)' in UTC: EventBridge Scheduler refuses it: Invalid" in answer.stderr


def test_a_tenants_schedules_lie_in_his_group_and_reach_his_alias_by_his_role(
    scheduler: Any, request_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler.create_schedule_group(Name="cpt-starts-acme")
    monkeypatch.setattr(Home, "tenant", "acme")
    assert add(request_file).exit_code == ExitCode.SUCCEEDED
    target = scheduler.get_schedule(Name="nightly", GroupName="cpt-starts-acme")["Target"]
    assert target["Arn"].endswith(":function:cpt-start-from-schedule:acme")
    assert target["RoleArn"].endswith(f":role/cpt-starts-acme-{WEST}")
