"""`cpt starts` against tables and rules in memory; tests/e2e has it against a deployment, with IAM enforced."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from cli import object_starts
from cli.aws import Aws
from cli.doctor.starts import starts as doctor
from cli.exit_codes import ExitCode
from cli.main import app
from lambdas.core.intake.added_starts import read_object_start
from tests.cli.transfers import SETTINGS

WEST = "us-west-2"
BUCKETS = ["rs us-west-2 exports/daily/", "rws us-west-2 moved/", "r us-west-2 silent/"]
REQUEST: dict[str, Any] = {
    "source": {"kind": "bucket", "bucket": "exports", "prefix": "daily/", "region": WEST},
    "destination": {"instanceId": "i-0bbbbbbbbbbbbbbb2", "region": "eu-west-1", "path": "/restore"},
}
BACK = {
    "source": {"kind": "bucket", "bucket": "moved", "prefix": "", "region": WEST},
    "destination": {"kind": "bucket", "bucket": "moved", "prefix": "again/", "region": WEST},
}


class Home:
    """What the commands ask of `Aws`: moto's tables and rules, and the settings of the deployment's functions."""

    region, deployment = WEST, "cpt"

    def client(self, service: str, region: str = WEST) -> Any:
        return self if service == "lambda" else boto3.client(cast(Any, service), region_name=region)

    def get_function_configuration(self, **_: str) -> dict[str, Any]:
        settings = {**json.loads(SETTINGS["SETTINGS"]), "BUCKETS": BUCKETS}
        return {"Environment": {"Variables": {"SETTINGS": json.dumps(settings)}}}


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(object_starts, "home", lambda *, local: cast(Aws, Home()))
    with mock_aws():
        keys = {"collection": "HASH", "item": "RANGE"}
        boto3.client("dynamodb", region_name=WEST).create_table(
            TableName="cpt-arrivals",
            KeySchema=cast(Any, [{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()]),
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            BillingMode="PAY_PER_REQUEST",
        )
        boto3.client("events", region_name=WEST).create_event_bus(Name="cpt")
        yield


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(REQUEST))
    return path


def cpt(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["starts", *map(str, words)])


def listed() -> list[dict[str, Any]]:
    return [json.loads(line) for line in cpt("list", "--json").stdout.splitlines()]


def deploy(name: str, request: dict[str, Any], target: str = "sqs:us-west-2:1:cpt-arrivals") -> None:
    """A rule as infra/lib/constructs/collected-starts.ts makes it."""
    events, source = boto3.client("events", region_name=WEST), request["source"]
    pattern = {
        "source": ["aws.s3"],
        "region": [WEST],
        "detail": {
            "bucket": {"name": [source["bucket"]]},
            "object": {"key": [{"wildcard": f"{source['prefix']}*.csv"}]},
        },
    }
    events.put_rule(Name=f"cpt-objects-{name}", EventPattern=json.dumps(pattern))
    start = json.dumps({"name": name, "windowSeconds": 30, "request": request})
    transformer = {
        "InputPathsMap": {"type": "$.detail-type", "bucket": "$.detail.bucket"},
        "InputTemplate": f'{{"detail-type":<type>,"detail":{{"bucket":<bucket>,"start":{start}}}}}',
    }
    goal: Any = {"Id": "Target0", "Arn": f"arn:aws:{target}", "InputTransformer": transformer}
    events.put_targets(Rule=f"cpt-objects-{name}", Targets=[goal])


def test_what_is_added_listens_where_its_source_is(request_file: Path) -> None:
    answer = cpt("add", "daily", request_file, "--suffix", ".csv", "--window", "30")
    assert answer.exit_code == ExitCode.SUCCEEDED, answer.output
    first, second = answer.stdout.splitlines()
    assert first == "added daily: s3://exports/daily/*.csv, one transfer for what comes within 30 s"
    assert "tells EventBridge" in second
    assert listed() == [
        {
            "name": "daily",
            "origin": "added",
            "bucket": "exports",
            "prefix": "daily/",
            "suffix": ".csv",
            "region": WEST,
            "windowSeconds": 30,
            "request": REQUEST,
        }
    ]


@pytest.mark.parametrize(
    ("change", "words", "says"),
    [
        ({}, ("--window", "5"), "--window: 5 is not valid; write a whole number from 10 to 3600"),
        ({}, ("--suffix", "*"), '--suffix: "*" is not valid; write the end of a key'),
        ({}, ("--prefix", "other/"), "$.source.prefix: 'daily/': keys that begin with 'other/'"),
        ({"name": "x"}, (), '$.name: "x" is not valid in a template; leave it out'),
        ({"sourse": 1}, (), "$.sourse: is not a known key"),
        (
            {"source": {"instanceId": "i-0aaaaaaaaaaaaaaa1", "region": WEST, "paths": ["/a"]}},
            (),
            "$.source: its source",
        ),
        (
            {"source": {**REQUEST["source"], "bucket": "silent"}},
            (),
            "$.source.bucket: 'silent': the deployment does not",
        ),
        (
            {"source": {**REQUEST["source"], "bucket": "foreign"}},
            (),
            "$.source.bucket: 'foreign': this deployment may not",
        ),
        (BACK, (), "$.destination.prefix: 's3://moved/again/' lies in the source's"),
    ],
)
def test_what_could_not_work_is_refused_before_anything_is_written(
    request_file: Path, change: dict[str, Any], words: tuple[str, ...], says: str
) -> None:
    request_file.write_text(json.dumps({**REQUEST, **change}))
    answer = cpt("add", "daily", request_file, *words)
    assert (answer.exit_code, listed()) == (ExitCode.REQUEST, [])
    assert f"InvalidRequest: {says}" in answer.stderr


def test_a_name_is_given_once_and_one_of_the_settings_is_taken(request_file: Path) -> None:
    deploy("weekly", REQUEST)
    assert cpt("add", "daily", request_file).exit_code == ExitCode.SUCCEEDED
    again, taken = cpt("add", "daily", request_file), cpt("add", "weekly", request_file)
    assert (again.exit_code, "was added before" in again.stderr) == (ExitCode.REQUEST, True)
    assert (taken.exit_code, "cpt.starts.objects" in taken.stderr) == (ExitCode.REQUEST, True)
    assert [(one["name"], one["origin"], one["windowSeconds"]) for one in listed()] == [
        ("weekly", "deployed", 30),
        ("daily", "added", 60),
    ]
    assert listed()[0]["request"] == REQUEST
    shown = cpt("list").stdout
    assert all(words in shown for words in ("weekly", "deployed", "s3://exports/daily/*.csv", "30 s"))


def test_a_rule_of_another_deployment_whose_name_begins_alike_is_its_own(request_file: Path) -> None:
    deploy("weekly", REQUEST, "sqs:us-west-2:1:cpt-objects-arrivals")
    assert listed() == []
    assert cpt("add", "weekly", request_file).exit_code == ExitCode.SUCCEEDED


def test_a_change_keeps_what_is_not_given_and_is_judged_as_a_whole(request_file: Path) -> None:
    cpt("add", "daily", request_file, "--suffix", ".csv", "--window", "30")
    assert cpt("change", "daily", "--window", "40").exit_code == ExitCode.SUCCEEDED
    [now] = listed()
    assert (now["windowSeconds"], now["suffix"], now["request"]) == (40, ".csv", REQUEST)
    request_file.write_text(json.dumps({**REQUEST, "onProblem": "skip"}))
    changed = cpt("change", "daily", request_file, "--json")
    assert json.loads(changed.stdout)["request"] == {**REQUEST, "onProblem": "skip"} == listed()[0]["request"]
    request_file.write_text(json.dumps({**REQUEST, "resume": True}))
    assert cpt("change", "daily", request_file).exit_code == ExitCode.REQUEST
    assert listed()[0]["request"] == {**REQUEST, "onProblem": "skip"}


def test_a_start_that_closes_a_circle_through_one_of_the_settings_is_refused(request_file: Path) -> None:
    there = {**REQUEST, "source": BACK["source"], "destination": {**REQUEST["source"]}}
    deploy("there", there)
    request_file.write_text(json.dumps({**REQUEST, "destination": BACK["destination"]}))
    answer = cpt("add", "back", request_file)
    assert (answer.exit_code, listed()[0]["name"], len(listed())) == (ExitCode.REQUEST, "there", 1)
    assert "'there', which it leads to, writes where it listens" in answer.stderr


def test_a_circle_that_a_later_deployment_closes_is_found_by_the_doctor(request_file: Path) -> None:
    request_file.write_text(json.dumps({**REQUEST, "destination": BACK["destination"]}))
    assert cpt("add", "back", request_file).exit_code == ExitCode.SUCCEEDED
    deploy("there", {**REQUEST, "source": BACK["source"], "destination": {**REQUEST["source"]}})
    [finding] = [one for one in doctor(cast(Aws, Home())) if one.about == "back"]
    assert finding.status == "failed"
    assert "'there', which it leads to" in finding.message
    assert "cpt starts remove back" in str(finding.remedy)


def test_what_is_removed_is_gone(request_file: Path) -> None:
    cpt("add", "daily", request_file)
    assert cpt("remove", "daily").stdout == "removed daily; it starts nothing any more\n"
    assert listed() == []
    assert cpt("list").stdout == "no object starts transfers\n"


@pytest.mark.parametrize("command", ["change", "remove"])
def test_one_of_the_settings_and_one_that_is_not_there_are_refused(command: str) -> None:
    deploy("weekly", REQUEST)
    of_settings, absent = cpt(command, "weekly"), cpt(command, "daily")
    assert (of_settings.exit_code, absent.exit_code) == (ExitCode.REQUEST, ExitCode.REQUEST)
    assert "change cpt.starts.objects.weekly in cdk.json, and deploy" in of_settings.stderr
    assert "cpt starts list shows all" in absent.stderr


def test_of_two_that_add_at_once_the_slower_is_judged_beside_the_faster(
    monkeypatch: pytest.MonkeyPatch, request_file: Path
) -> None:
    """Each alone is fine; together they would start each other for ever."""
    other = request_file.with_name("other.json")
    other.write_text(json.dumps({**REQUEST, "source": BACK["source"], "destination": REQUEST["source"]}))
    request_file.write_text(json.dumps({**REQUEST, "destination": BACK["destination"]}))
    meanwhile = iter([other])

    def slowly(*arguments: Any) -> Any:
        start = read_object_start(*arguments)
        if path := next(meanwhile, None):
            monkeypatch.setattr("tests.cli.test_object_starts.BUCKETS", ["rws us-west-2 exports/daily/", BUCKETS[1]])
            assert cpt("add", "fast", path).exit_code == ExitCode.SUCCEEDED
        return start

    monkeypatch.setattr(object_starts, "read_object_start", slowly)
    answer = cpt("add", "slow", request_file)
    assert (answer.exit_code, [one["name"] for one in listed()]) == (ExitCode.REQUEST, ["fast"])
    assert "'fast', which it leads to" in answer.stderr
