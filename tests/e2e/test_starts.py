"""The ways to start that need no hand on the state machine: the page's request, an object, data, a schedule."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli.exit_codes import ExitCode
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.people import having, refused

USE = Path("docs/use.md").read_text()


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:
    """Schedules are due every few seconds."""
    return make_account(scheduleMinuteSeconds=3)


@pytest.fixture(scope="module", autouse=True)
def waiting(account: Account, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An execution that found its destination taken: it looks again after half a minute, while the other tests run."""
    work = tmp_path_factory.mktemp("waiting")
    request = account.request(make_files(work / "set", large_bytes=1000), work / "out", relays={"pairs": 0})
    first = account.start({**request, "approval": "required"}, "holds-it")
    account.entered(first, "Await Approval")
    second = account.start({**request, "whenBusy": "wait"}, "waits-for-it")
    account.cloud.wait_for(lambda: account.record("waits-for-it", "transfer"), 60)
    account.aws.client("stepfunctions").stop_execution(executionArn=first)
    return second, work


def object_of(account: Account, key: str) -> Any:
    try:
        return json.loads(account.aws.client("s3").get_object(Bucket=account.bucket, Key=key)["Body"].read())
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchKey":
            raise
        return None


def put(account: Account, key: str, body: bytes) -> None:
    account.aws.client("s3").put_object(Bucket=account.bucket, Key=key, Body=body)


def executions(account: Account, prefix: str) -> list[str]:
    found = account.aws.client("stepfunctions").list_executions(stateMachineArn=account.machine)["executions"]
    return [execution["executionArn"] for execution in found if execution["name"].startswith(prefix)]


def test_the_request_that_the_documentation_pastes_into_the_console_is_accepted(
    account: Account, tmp_path: Path
) -> None:
    [example] = re.findall(r"```json console\n(.*?)```", USE, re.DOTALL)
    request = json.loads(example)
    # The reader's own machines and paths; everything else as it stands there.
    ours = account.request(make_files(tmp_path / "set", large_bytes=1000), tmp_path / "out")
    assert request["source"].keys() == ours["source"].keys()
    assert request["destination"].keys() == ours["destination"].keys()
    run = account.run({**request, "source": ours["source"], "destination": ours["destination"]}, "console")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert "Resolve Paths" in account.history(run.arn)


def test_request_document_starts_once_and_is_answered_beside_it(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1000)
    document = account.request(source, tmp_path / "out", relays={"pairs": 0})
    put(account, "requests/team/by object.json", json.dumps(document).encode())
    answer = account.cloud.wait_for(lambda: object_of(account, "requests/team/by object.started.json"), 30)
    run = account.wait(answer["executionArn"])
    assert run.status == "SUCCEEDED"
    assert run.report["transferId"] == answer["transferId"]
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert executions(account, "team-by-object-") == [answer["executionArn"]]


def test_bad_request_document_is_answered_beside_it(account: Account) -> None:
    put(account, "requests/bad.json", b'{"source": {}}')
    answer = account.cloud.wait_for(lambda: object_of(account, "requests/bad.error.json"), 30)
    assert answer["error"] == "InvalidRequest"
    assert "$.destination: is missing; it is required" in answer["problems"]
    assert executions(account, "bad-") == []


def test_data_that_is_written_starts_its_template(account: Account, tmp_path: Path) -> None:
    """The rule is that of the template (tests/infra), made here for machines that exist only now."""
    (tmp_path / "daily").mkdir()
    (tmp_path / "daily" / "a.csv").write_text("1,2\n")
    request = account.request(f"{tmp_path}/{{key}}", tmp_path / "out", relays={"pairs": 0})
    s3, events = account.aws.client("s3"), account.aws.client("events")
    s3.create_bucket(Bucket="exports", CreateBucketConfiguration={"LocationConstraint": HOME})
    s3.put_bucket_notification_configuration(
        Bucket="exports", NotificationConfiguration={"EventBridgeConfiguration": {}}
    )
    pattern = {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"bucket": {"name": ["exports"]}, "object": {"key": [{"prefix": "daily/"}]}},
    }
    detail = f'{{"bucket":<detail-bucket>,"object":<detail-object>,"request":{json.dumps(request)}}}'
    transformer = {
        "InputPathsMap": {
            "detail-type": "$.detail-type",
            "detail-bucket": "$.detail.bucket",
            "detail-object": "$.detail.object",
        },
        "InputTemplate": f'{{"detail-type":<detail-type>,"detail":{detail}}}',
    }
    events.put_rule(Name="exports", EventPattern=json.dumps(pattern))
    target = {"Id": "start", "Arn": function(account, "cpt-start-from-object"), "InputTransformer": transformer}
    events.put_targets(Rule="exports", Targets=[target])
    s3.put_object(Bucket="exports", Key="daily/a.csv", Body=b"1,2\n")
    [arn] = account.cloud.wait_for(lambda: executions(account, "daily-a-csv-"), 30)
    assert account.wait(arn).status == "SUCCEEDED"
    assert (tmp_path / "out" / "a.csv").read_text() == "1,2\n"


def test_schedule_that_somebody_adds_starts_each_time_that_it_is_due(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have the right to pass the schedules' role, and no other that would start anything."""
    monkeypatch.chdir(tmp_path)
    source = make_files(tmp_path / "set", large_bytes=1000)
    request = tmp_path / "request.json"
    request.write_text(json.dumps(account.request(source, tmp_path / "out", relays={"pairs": 0})))
    person = having(account, "scheduler")
    added = person.cpt("schedule", "add", "often", request, "--expression", "rate(1 minute)")
    assert added.exit_code == ExitCode.SUCCEEDED, added.output
    account.cloud.wait_for(lambda: len(executions(account, "often-")) >= 2, 60)
    refused(person.cpt("start", request))
    assert person.cpt("schedule", "remove", "often").exit_code == ExitCode.SUCCEEDED
    ended = [account.wait(arn) for arn in executions(account, "often-")]
    assert "SUCCEEDED" in {run.status for run in ended}
    # One that was due while another still wrote there was refused.
    assert {run.error for run in ended} <= {None, "DestinationBusy"}
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert "often-" not in account.units(account.destination, OTHER)


def test_request_that_waits_goes_on_when_the_destination_is_free(account: Account, waiting: tuple[str, Path]) -> None:
    arn, work = waiting
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(work / "out" / "set") == tree(work / "set")


def function(account: Account, name: str) -> str:
    client = account.aws.client("lambda")
    return str(client.get_function(FunctionName=name)["Configuration"]["FunctionArn"])
