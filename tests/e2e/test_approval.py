"""A transfer that waits for a person: nothing is launched before the answer, and every answer ends cleanly."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.exit_codes import ExitCode, exit_code
from cli.main import app
from cli.state_reading import read_state
from tests.chaos.extent import cases, only_full
from tests.e2e.account import HOME, OTHER, SLOW_MBPS, Account, Run
from tests.e2e.files import make_files, tree

WAITING_SECONDS = 60


class Waiting:
    """One transfer that waits, and the command line beside it."""

    def __init__(self, account: Account, work: Path, name: str, **more: Any) -> None:
        self.account, self.name = account, name
        # 250 MB: 12 s on the direct path (20 MB/s), so that a pair (boot 1 s) is worth while.
        self.source = make_files(work / "set", large_bytes=250_000_000)
        self.destination = work / "out"
        request = account.request(self.source, self.destination, approval="required", **more)
        self.arn = account.start(request, name)
        self.state = account.cloud.wait_for(
            lambda: next((s for s in [read_state(account.aws, name)] if s.awaits_approval), None), WAITING_SECONDS
        )

    def cpt(self, *words: str) -> Result:
        """`cpt WORDS`."""
        return CliRunner().invoke(app, list(words))

    def ended(self) -> Run:
        """After its end: torn down, nothing launched, the destination free."""
        run = self.account.wait(self.arn)
        assert not self.account.launched(self.name, HOME) + self.account.launched(self.name, OTHER)
        assert not self.destination.exists()
        assert self.tokens() == []
        assert [state for state in self.account.history(self.arn) if state in ("Plan Chunks", "Spawn Relays")] == []
        return run

    def tokens(self) -> list[str]:
        """Tasks whose tokens the control plane keeps for it."""
        table = self.account.aws.resource("dynamodb").Table("cpt-control-tokens")
        return [item["task"] for item in table.scan(ConsistentRead=True)["Items"] if item["transferId"] == self.name]


@pytest.fixture(autouse=True)
def _environment(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the README has it for any AWS client."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def subscribe(account: Account) -> Callable[[], list[dict[str, str]]]:
    """Somebody who gets the letters that ask for approval; returns how to look into their box."""
    sqs, sns = account.aws.client("sqs"), account.aws.client("sns")
    (topic,) = [t["TopicArn"] for t in sns.list_topics()["Topics"] if t["TopicArn"].endswith(":cpt-approvals")]
    queue = sqs.create_queue(QueueName="letters")["QueueUrl"]
    address = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": address,
        "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": json.dumps(policy)})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=address)
    return lambda: [json.loads(m["Body"]) for m in sqs.receive_message(QueueUrl=queue).get("Messages", [])]


def test_a_person_takes_another_row_than_the_recommended_one(account: Account, tmp_path: Path) -> None:
    letters = subscribe(account)
    waiting = Waiting(account, tmp_path, "approved")
    estimate = waiting.state.estimate
    assert estimate is not None
    other = 1 if estimate["chosenPairs"] != 1 else 2
    (letter,) = account.cloud.wait_for(letters, 30)
    assert letter["Subject"] == "Approve approved?"
    for row in estimate["rows"]:
        assert row["limit"] in letter["Message"]
    refused = waiting.cpt("approve", "approved", "--pairs", "40")
    assert (refused.exit_code, "40 is not a row" in refused.output) == (ExitCode.REQUEST, True)

    assert waiting.cpt("approve", "approved", "--pairs", str(other)).exit_code == 0
    account.limit_once_moving("approved", SLOW_MBPS)
    account.lift_once_joined("approved", other)
    run = account.wait(waiting.arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert (run.report["pairs"], run.report["estimate"]["chosenPairs"]) == (other, other)
    assert run.report["estimate"]["reason"] == f"approved by person: {other} pairs"
    assert tree(waiting.destination / "set") == tree(waiting.source)
    assert waiting.tokens() == []
    late = waiting.cpt("approve", "approved")
    assert (late.exit_code, "NotAwaitingApproval" in late.output) == (ExitCode.REQUEST, True)


def test_a_rejection_ends_it_with_the_reason(account: Account, tmp_path: Path) -> None:
    waiting = Waiting(account, tmp_path, "rejected")
    assert waiting.cpt("reject", "rejected", "--reason", "too dear").exit_code == 0
    run = waiting.ended()
    assert (run.status, run.error) == ("FAILED", "ApprovalRejected")
    assert "too dear" in str(run.cause)
    assert exit_code(run.report) == ExitCode.REJECTED


def test_without_an_answer_it_ends_by_itself(account: Account, tmp_path: Path) -> None:
    waiting = Waiting(account, tmp_path, "unanswered", approvalTimeoutSeconds=10)
    run = waiting.ended()
    assert (run.status, run.error) == ("FAILED", "ApprovalTimedOut")
    assert "nobody approved within 10 s" in str(run.cause)
    assert exit_code(run.report) == ExitCode.UNANSWERED


@only_full
def test_stopped_while_it_waits_nothing_is_left(account: Account, tmp_path: Path) -> None:
    waiting = Waiting(account, tmp_path, "stopped-waiting")
    account.aws.client("stepfunctions").stop_execution(executionArn=waiting.arn)
    account.cloud.wait_for(lambda: not waiting.tokens() and _closed(account, "stopped-waiting"), 90)
    assert waiting.ended().status == "ABORTED"


@pytest.mark.parametrize(
    ("output", "status", "error"),
    cases(
        [
            ({"pairs": 0}, "SUCCEEDED", None),
            ({"pairs": 40}, "FAILED", "InvalidApproval"),
            ({}, "FAILED", "InvalidApproval"),
        ],
        [({"pairs": 40}, "FAILED", "InvalidApproval")],
    ),
)
def test_whoever_reads_the_history_may_answer_without_the_command_line(
    account: Account, tmp_path: Path, output: dict[str, int], status: str, error: str | None
) -> None:
    name = f"by-hand-{len(output)}-{output.get('pairs')}"
    waiting = Waiting(account, tmp_path, name)
    client = account.aws.client("stepfunctions")
    events = client.get_execution_history(executionArn=waiting.arn, maxResults=1000)["events"]
    scheduled = [e["taskScheduledEventDetails"] for e in events if "taskScheduledEventDetails" in e][-1]
    token = json.loads(scheduled["parameters"])["Payload"]["taskToken"]
    client.send_task_success(taskToken=token, output=json.dumps(output))
    run = waiting.ended() if error else account.wait(waiting.arn)
    assert (run.status, run.error) == (status, error)


def _closed(account: Account, name: str) -> bool:
    record = account.record(name, "transfer")
    return record is not None and record["status"] == "FAILED"
