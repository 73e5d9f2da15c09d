"""Objects that come are collected for a transfer: rules, queue and schedules of the synthesized templates."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cli.exit_codes import ExitCode
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.people import denied, having, refused

NEAR, FAR = "exports-near", "exports-far"
STAND_IN, PATH = "i-0bbbbbbbbbbbbbbb2", "/restore-here"
COUNT = 1_000


def start(bucket: str, region: str, prefix: str = "daily/", seconds: int = 10) -> dict[str, Any]:
    request = {
        "source": {"kind": "bucket", "bucket": bucket, "prefix": prefix, "region": region},
        "destination": {"instanceId": STAND_IN, "region": OTHER, "path": PATH},
    }
    return {"bucket": bucket, "prefix": prefix, "windowSeconds": seconds, "request": request}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """A deployment with a start in each region; its templates name the machine that was launched after them."""
    work = tmp_path_factory.mktemp("collected")
    near, quick = start(NEAR, HOME, seconds=60), start(NEAR, HOME, "quick/")
    starts = {"objects": {"near": near, "quick": quick, "far": start(FAR, OTHER)}}
    buckets = [
        {"bucket": NEAR, "region": HOME, "read": True},
        {"bucket": FAR, "region": OTHER, "read": True, "starts": True},
    ]
    templates = synthesized(work / "assembly", (HOME, OTHER), starts=starts, buckets=buckets)
    config = LocalConfig.model_validate({"port": 0, "bootSeconds": 1.0, "pollSeconds": 0.2})
    with LocalCloud(config, work / "state", templates) as cloud:
        made = Account(cloud, work)
        for bucket, region in ((NEAR, HOME), (FAR, OTHER)):
            s3 = made.aws.client("s3", region)
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": region})
            # It was there before anybody listened.
            for key in ("daily/before", "quick/before"):
                s3.put_object(Bucket=bucket, Key=key, Body=b"old")
            s3.put_bucket_notification_configuration(
                Bucket=bucket, NotificationConfiguration={"EventBridgeConfiguration": {}}
            )
        for rule, bus in (
            ("cpt-objects-near", "default"),
            ("cpt-objects-quick", "default"),
            ("cpt-objects-far", "cpt"),
        ):
            put_machine_in(made, rule, bus)
        yield made


def put_machine_in(account: Account, rule: str, bus: str) -> None:
    events = account.aws.client("events")
    [target] = events.list_targets_by_rule(Rule=rule, EventBusName=bus)["Targets"]
    text = json.dumps(target).replace(STAND_IN, account.destination)
    text = text.replace(PATH, str(account.work / f"restored {rule}"))
    events.put_targets(Rule=rule, EventBusName=bus, Targets=[json.loads(text)])


def executions(account: Account, prefix: str) -> list[dict[str, Any]]:
    """The inputs of those that were started."""
    states = account.aws.client("stepfunctions")
    found = states.list_executions(stateMachineArn=account.machine)["executions"]
    return [
        json.loads(states.describe_execution(executionArn=one["executionArn"])["input"])
        for one in found
        if one["name"].startswith(prefix)
    ]


def running(account: Account) -> list[Any]:
    found = account.aws.client("stepfunctions").list_executions(stateMachineArn=account.machine, statusFilter="RUNNING")
    return list(found["executions"])


def lines(account: Account, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Of the list that an execution has."""
    body = account.aws.client("s3").get_object(Bucket=account.bucket, Key=request["source"]["keys"]["manifest"])["Body"]
    return [json.loads(line) for line in body.read().splitlines()]


def moved(account: Account, prefix: str) -> list[str]:
    return [line["key"] for request in executions(account, prefix) for line in lines(account, request)]


def put(account: Account, bucket: str, region: str, keys: list[str]) -> None:
    s3 = account.aws.client("s3", region)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda key: s3.put_object(Bucket=bucket, Key=key, Body=b"x"), keys))


@only_full
def test_a_thousand_objects_are_one_transfer_or_two_and_none_is_lost(account: Account) -> None:
    keys = [f"daily/{number:04}" for number in range(COUNT)]
    put(account, NEAR, HOME, [*keys, "weekly/none-of-it"])
    account.cloud.wait_for(lambda: len(moved(account, "near-")) >= COUNT, 180)
    assert sorted(moved(account, "near-")) == keys
    assert len(executions(account, "near-")) <= 2
    scheduler = account.aws.client("scheduler")
    account.cloud.wait_for(lambda: not scheduler.list_schedules(GroupName="cpt-windows")["Schedules"], 60)


def test_objects_of_another_region_come_by_way_of_its_stack(account: Account) -> None:
    put(account, FAR, OTHER, ["daily/a", "daily/b", "other/c"])
    account.cloud.wait_for(lambda: len(moved(account, "far-")) >= 2, 60)
    assert sorted(moved(account, "far-")) == ["daily/a", "daily/b"]
    account.cloud.wait_for(lambda: not running(account), 60)
    restored = account.work / "restored cpt-objects-far"
    assert sorted(path.name for path in restored.iterdir()) == ["a", "b"]


@only_full
def test_an_event_that_comes_again_or_late_starts_nothing(account: Account) -> None:
    put(account, NEAR, HOME, ["quick/again"])
    account.cloud.wait_for(lambda: "quick/again" in moved(account, "quick-"), 60)
    [request] = executions(account, "quick-")
    assert request["whenBusy"] == "wait"
    [line] = lines(account, request)
    template = {**request, "source": {name: value for name, value in request["source"].items() if name != "keys"}}
    for sequencer in ("0", line["sequencer"]):
        written = {"key": "quick/again", "size": 1, "sequencer": sequencer}
        again = {"name": "quick", "windowSeconds": 10, "request": template}
        detail = {"bucket": {"name": NEAR}, "object": written, "start": again}
        sqs = account.aws.client("sqs")
        url = sqs.get_queue_url(QueueName="cpt-arrivals")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"detail-type": "Object Created", "detail": detail}))
    put(account, NEAR, HOME, ["quick/after"])
    account.cloud.wait_for(lambda: "quick/after" in moved(account, "quick-"), 60)
    assert sorted(moved(account, "quick-")) == ["quick/after", "quick/again"]


def test_a_start_that_a_person_adds_moves_what_comes_until_it_is_removed(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    request, restored = tmp_path / "request.json", account.work / "restored added"
    source = {"kind": "bucket", "bucket": FAR, "prefix": "added/", "region": OTHER}
    target = {"instanceId": account.destination, "region": OTHER, "path": str(restored)}
    request.write_text(json.dumps({"source": source, "destination": target}))
    people = {part: having(account, part) for part in ("reader", "starter", "scheduler")}
    add = ("starts", "add", "daily", request, "--window", "10", "--suffix", ".csv")
    for part in ("reader", "starter"):
        refused(people[part].cpt(*add))
    added = people["scheduler"].cpt(*add)
    assert added.exit_code == ExitCode.SUCCEEDED, added.output
    listed = [json.loads(line) for line in people["reader"].cpt("starts", "list", "--json").stdout.splitlines()]
    assert {(one["name"], one["origin"]) for one in listed} == {
        *((name, "deployed") for name in ("near", "quick", "far")),
        ("daily", "added"),
    }
    # A window has the request that it starts: whoever may add starts may write none of these.
    dynamodb = people["scheduler"].client("dynamodb")
    window = {"collection": {"S": "windows"}, "item": {"S": "near"}}
    denied(dynamodb.put_item, TableName="cpt-arrivals", Item=window)
    denied(dynamodb.get_item, TableName="cpt-arrivals", Key=window)

    put(account, FAR, OTHER, ["added/a.csv", "added/b.csv", "added/c.txt"])
    account.cloud.wait_for(lambda: len(moved(account, "added_daily-")) >= 2, 60)
    account.cloud.wait_for(lambda: not running(account), 60)
    assert sorted(path.name for path in restored.iterdir()) == ["a.csv", "b.csv"]
    assert people["scheduler"].cpt("starts", "change", "daily", "--suffix", ".txt").exit_code == ExitCode.SUCCEEDED
    put(account, FAR, OTHER, ["added/d.txt", "added/e.csv"])
    account.cloud.wait_for(lambda: "added/d.txt" in moved(account, "added_daily-"), 60)
    assert people["scheduler"].cpt("starts", "remove", "daily").exit_code == ExitCode.SUCCEEDED
    put(account, FAR, OTHER, ["added/f.txt", "daily/after"])
    account.cloud.wait_for(lambda: "daily/after" in moved(account, "far-"), 60)
    assert sorted(moved(account, "added_daily-")) == ["added/a.csv", "added/b.csv", "added/d.txt"]
    account.cloud.wait_for(lambda: not running(account), 60)
