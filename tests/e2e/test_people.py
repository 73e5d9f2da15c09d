"""Whoever has the policy of a reader, starter, approver or scheduler does that part and no other; IAM is enforced."""

import json
import re
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from cli.exit_codes import ExitCode
from cli.state_reading import read_state
from tests.e2e.account import Account
from tests.e2e.files import make_files, tree
from tests.e2e.people import Person, allowed, denied, having, refused, trusting

NAME = "by-people"
PARTS = ("reader", "starter", "approver", "scheduler")


@pytest.fixture(scope="module")
def people(account: Account) -> dict[str, Person]:
    """One for each policy, by the output of the stack that names it."""
    return {part: having(account, part) for part in PARTS}


def test_a_starter_starts_an_approver_approves_and_a_reader_reads(
    account: Account, people: dict[str, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reader, starter, approver = (people[part] for part in ("reader", "starter", "approver"))
    source = make_files(tmp_path / "set", large_bytes=1000)
    written = starter.cpt("request", account.source, source, account.destination, tmp_path / "out")
    assert written.exit_code == ExitCode.SUCCEEDED, written.output
    request = tmp_path / "request.json"
    given = {**json.loads(written.stdout), "approval": "required", "relays": {"pairs": 0}, "preTest": False}
    request.write_text(json.dumps(given))
    assert starter.cpt("estimate", request, "--size", "8GB").exit_code == ExitCode.SUCCEEDED
    for other in (reader, approver):
        refused(other.cpt("start", request, "--name", NAME))
        refused(other.cpt("estimate", request, "--size", "8GB"))
    started = starter.cpt("start", request, "--name", NAME)
    assert started.exit_code == ExitCode.SUCCEEDED, started.output
    account.cloud.wait_for(lambda: read_state(account.aws, NAME).awaits_approval, 60)

    assert all(words in reader.clicks("cpt-show-transfers", {}) for words in (NAME, "waits for approval"))
    assert f"Approve {NAME} with 0 pairs" in reader.clicks("cpt-show-transfers", {"transferId": NAME})
    answer = {"transferId": NAME, "decision": "approve", "pairs": 0}
    for other in (reader, starter):
        denied(other.clicks, function="cpt-decide-approval", payload=answer)
    for other in (starter, approver):
        denied(other.clicks, function="cpt-show-transfers", payload={})
    for other in (reader, approver):
        denied(other.clicks, function="cpt-cancel-transfer", payload={"transferId": NAME})
        denied(other.clicks, function="cpt-limit-transfer", payload={"transferId": NAME})
        for act in ("pause", "unpause"):
            denied(other.clicks, function=f"cpt-{act}-transfer", payload={"transferId": NAME})
            refused(other.cpt(act, NAME))
        denied(other.clicks, function="cpt-limit-transfers", payload={})
        refused(other.cpt("limit", "--all", "--mbps", "80"))
        refused(other.cpt("seats", "drain", NAME, account.source))
    early = starter.cpt("seats", "drain", NAME, account.source)
    assert (early.exit_code, "moves nothing yet" in early.output) == (ExitCode.REQUEST, True), early.output
    assert "NotMoving" in starter.clicks("cpt-limit-transfer", {"transferId": NAME}, bandwidthLimitMbps="80")
    for other in (reader, starter):
        refused(other.cpt("approve", NAME))
        refused(other.cpt("reject", NAME))
    for other in (reader, approver):
        refused(other.cpt("cancel", NAME))
        refused(other.cpt("limit", NAME, "--mbps", "80"))
    for other in (reader, starter, approver):
        refused(other.cpt("teardown", NAME))
    for other in (starter, approver):
        refused(other.cpt("list"))
    assert "goes on with 0 pairs" in approver.clicks("cpt-decide-approval", answer)
    watched = reader.cpt("watch", NAME, "--json")
    assert watched.exit_code == ExitCode.SUCCEEDED, watched.output
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert reader.cpt("report", NAME).exit_code == ExitCode.SUCCEEDED
    assert NAME in reader.cpt("list", "--json").stdout
    assert NAME in reader.clicks("cpt-show-transfers", {})
    for other in (starter, approver):
        refused(other.cpt("watch", NAME))


def test_a_starter_limits_and_cancels(
    account: Account, people: dict[str, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = make_files(tmp_path / "set", large_bytes=20_000_000)
    request = tmp_path / "request.json"
    slow = account.request(source, tmp_path / "out", relays={"pairs": 0}, bandwidthLimitMbps=8, chunkSizeMiB=1)
    request.write_text(json.dumps(slow))
    starter = people["starter"]
    started = starter.cpt("start", request, "--name", "by-starter")
    assert started.exit_code == ExitCode.SUCCEEDED, started.output
    account.cloud.wait_for(lambda: account.progress("by-starter").get("bytes"), 60)
    limited = starter.cpt("limit", "by-starter", "--mbps", "16")
    assert limited.exit_code == ExitCode.SUCCEEDED, limited.output
    cancelled = starter.cpt("cancel", "by-starter", "--reason", "seen enough")
    assert cancelled.exit_code == ExitCode.SUCCEEDED, cancelled.output
    run = account.wait(cancelled_arn(account, "by-starter"))
    assert (run.status, run.cause) == ("ABORTED", "seen enough")


def test_a_starter_limits_and_cancels_by_clicks(account: Account, people: dict[str, Person], tmp_path: Path) -> None:
    source, name = make_files(tmp_path / "set", large_bytes=20_000_000), "by-click"
    slow = account.request(source, tmp_path / "out", relays={"pairs": 0}, bandwidthLimitMbps=8, chunkSizeMiB=1)
    arn = account.start(slow, name)
    account.cloud.wait_for(lambda: account.progress(name).get("bytes"), 60)
    reader, starter = people["reader"], people["starter"]
    assert "16 Mbit/s (2 MB/s)" in starter.clicks("cpt-limit-transfer", {"transferId": name}, bandwidthLimitMbps="16")
    shown = reader.clicks("cpt-show-transfers", {"transferId": name})
    assert all(words in shown for words in ("limit 2 MB/s", "Stop by-click?", "direct", "Pause by-click?"))
    assert "is paused" in starter.clicks("cpt-pause-transfer", {"transferId": name})
    assert "paused in" in reader.clicks("cpt-show-transfers", {"transferId": name})
    assert "goes on" in starter.clicks("cpt-unpause-transfer", {"transferId": name})
    assert "is paused" in starter.clicks("cpt-pause-transfer", {"transferId": name})
    assert "is cancelled" in starter.clicks("cpt-cancel-transfer", {"transferId": name})
    run = account.wait(arn)
    assert (run.status, run.cause) == ("ABORTED", "cancelled by a person")
    assert "has ended already" in starter.clicks("cpt-cancel-transfer", {"transferId": name})
    assert "NotMoving" in starter.clicks("cpt-unpause-transfer", {"transferId": name})


def test_a_starter_starts_from_the_page_and_whoever_may_only_look_does_not(
    account: Account, people: dict[str, Person], tmp_path: Path
) -> None:
    reader, starter = people["reader"], people["starter"]
    source = make_files(tmp_path / "set", large_bytes=1000)
    document = account.request(source, tmp_path / "out", relays={"pairs": 0}, preTest=False, name="from-page")
    [token] = set(re.findall(r"&#34;token&#34;: &#34;([0-9a-f]{16})&#34;", reader.clicks("cpt-show-transfers", {})))
    click = {"token": token}
    text = json.dumps(document)
    for part in ("reader", "approver", "scheduler"):
        denied(people[part].clicks, function="cpt-start-from-schedule", payload=click, request=text)
    wrong = json.dumps({**document, "chunkSizeMiB": 3})
    told = starter.clicks("cpt-start-from-schedule", click, request=wrong)
    assert "$.chunkSizeMiB: 3 is not valid; write MiB, a power of two" in told
    for _ in range(2):
        assert "&#39;from-page&#39; is started" in starter.clicks("cpt-start-from-schedule", click, request=text)
    executions = account.aws.client("stepfunctions").list_executions(stateMachineArn=account.machine)["executions"]
    [started] = [one for one in executions if one["name"].startswith("from-page")]
    assert account.wait(started["executionArn"]).status == "SUCCEEDED"
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert "from-page" in reader.clicks("cpt-show-transfers", {})


def test_who_may_write_schedules_and_not_pass_the_role_gains_no_start(
    account: Account, people: dict[str, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    request = tmp_path / "request.json"
    request.write_text(json.dumps(account.request(tmp_path, tmp_path / "out", relays={"pairs": 0})))
    # Long after these tests.
    add = ("schedule", "add", "nightly", request, "--expression", "cron(0 0 1 1 ? 2199)")
    for part in ("reader", "starter", "approver"):
        refused(people[part].cpt(*add))
    mine = account.aws.client("iam").create_role(RoleName="mine", AssumeRolePolicyDocument=trusting("scheduler"))
    everything = [{"Effect": "Allow", "Action": ["scheduler:*", "lambda:GetFunctionConfiguration"], "Resource": "*"}]
    pass_own = {"Effect": "Allow", "Action": "iam:PassRole", "Resource": mine["Role"]["Arn"]}
    writer = allowed(account, "writer", [*everything, pass_own])
    refused(writer.cpt(*add))

    assert people["scheduler"].cpt(*add).exit_code == ExitCode.SUCCEEDED
    refused(writer.cpt("schedule", "change", "nightly", "--expression", "rate(1 minute)"))
    assert json.loads(people["reader"].cpt("schedule", "list", "--json").stdout)["name"] == "nightly"
    client = writer.client("scheduler")
    found = client.get_schedule(Name="nightly", GroupName="cpt-starts")
    same = {"FlexibleTimeWindow": {"Mode": "OFF"}, "ScheduleExpression": "rate(1 hour)"}
    # Under a role of one's own it starts nothing that the role may not, and the list says whose it is.
    client.create_schedule(
        Name="own", GroupName="cpt-starts", Target={**found["Target"], "RoleArn": mine["Role"]["Arn"]}, **same
    )
    listed = people["scheduler"].cpt("schedule", "list", "--json").stdout.splitlines()
    assert [(one["name"], one["origin"]) for one in map(json.loads, listed)] == [
        ("nightly", "added"),
        ("own", "foreign"),
    ]
    # Whoever may pass the role everywhere is held by the group that it trusts.
    passing = allowed(account, "passing", [*everything, {**pass_own, "Resource": found["Target"]["RoleArn"]}])
    with pytest.raises(ClientError, match="must allow AWS EventBridge Scheduler to assume"):
        passing.client("scheduler").create_schedule(Name="elsewhere", Target=found["Target"], **same)
    for name in ("nightly", "own"):
        assert people["scheduler"].cpt("schedule", "remove", name).exit_code == ExitCode.SUCCEEDED


def cancelled_arn(account: Account, name: str) -> str:
    record = account.record(name, "transfer")
    assert record is not None
    return str(record["executionArn"])


@pytest.mark.parametrize("part", PARTS)
def test_nobody_of_them_changes_a_record_reaches_a_machine_or_calls_another_function(
    account: Account, people: dict[str, Person], part: str
) -> None:
    person = people[part]
    dynamodb, s3 = person.client("dynamodb"), person.client("s3")
    key = {"transferId": {"S": "any"}, "record": {"S": "transfer"}}
    denied(dynamodb.put_item, TableName="cpt-transfers", Item=key)
    denied(dynamodb.delete_item, TableName="cpt-transfers", Key=key)
    denied(dynamodb.scan, TableName="cpt-transfers")
    denied(dynamodb.scan, TableName="cpt-control-tokens")
    denied(s3.put_object, Bucket=account.bucket, Key="transfers/any/report.json", Body=b"{}")
    denied(s3.put_object, Bucket=account.bucket, Key="requests/any.json", Body=b"{}")
    denied(s3.get_object, Bucket=account.bucket, Key="ends/any/plan.json")
    denied(person.client("lambda").invoke, FunctionName="cpt-tear-down", Payload=b"{}")
    denied(person.client("ssm").send_command, InstanceIds=[account.source], DocumentName="cpt-stop")
    denied(person.client("ec2").terminate_instances, InstanceIds=[account.source])
    denied(person.client("iam").list_roles)
    if part != "starter":
        denied(person.client("stepfunctions").start_execution, stateMachineArn=account.machine, input="{}")
    if part != "reader":
        denied(s3.get_object, Bucket=account.bucket, Key="transfers/any/report.json")
    if part in ("approver", "scheduler"):
        denied(dynamodb.get_item, TableName="cpt-transfers", Key=key)
