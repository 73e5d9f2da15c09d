"""What a subscriber hears of transfers, and what the operators' metrics count of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.e2e.account import Account
from tests.e2e.files import make_files

CONTRACT = Draft202012Validator(json.loads((Path(__file__).parents[2] / "contracts" / "event.schema.json").read_text()))


class Subscriber:
    """A queue that is subscribed to the topic, as a program of the user's would be."""

    def __init__(self, account: Account) -> None:
        self._account, self._sqs = account, account.aws.client("sqs")
        self._queue = self._sqs.create_queue(QueueName="news")["QueueUrl"]
        arn = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._sqs.set_queue_attributes(QueueUrl=self._queue, Attributes={"Policy": policy})
        outputs = account.cloud.outputs["cpt-control"]
        account.aws.client("sns").subscribe(TopicArn=outputs["NotificationTopicArn"], Protocol="sqs", Endpoint=arn)
        self.heard: list[dict[str, Any]] = []

    def of(self, transfer_id: str) -> list[dict[str, Any]]:
        """All that was heard of a transfer so far, each as the contract has it."""
        answer = self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10)
        for message in answer.get("Messages", []):
            self.heard.append(json.loads(json.loads(message["Body"])["Message"]))
            self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])
        return [news for news in self.heard if news.get("transferId") == transfer_id]

    def until_finished(self, transfer_id: str) -> list[dict[str, Any]]:
        """What there is once the transfer has finished."""

        def finished() -> list[dict[str, Any]]:
            heard = self.of(transfer_id)
            return heard if any(news["type"] == "Transfer Finished" for news in heard) else []

        return self._account.cloud.wait_for(finished, 60)


@pytest.fixture(scope="module")
def subscriber(account: Account) -> Subscriber:
    return Subscriber(account)


def counted(account: Account, function: str, name: str) -> list[float]:
    """Values of a metric in a function's log, as CloudWatch reads them there."""
    log = (account.cloud.state.logs / "lambda" / f"{function}.log").read_text()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith('{"_aws"')]
    return [line[name][0] for line in lines if line.get("service") == "control-plane" and name in line]


def test_subscriber_hears_when_a_transfer_starts_and_how_it_finished(
    account: Account, subscriber: Subscriber, tmp_path: Path
) -> None:
    source = make_files(tmp_path / "set")
    run = account.run(account.request(source, tmp_path / "out", relays={"pairs": 0}), "told")
    heard = subscriber.until_finished("told")
    for news in heard:
        CONTRACT.validate(news)
    by_type = {news["type"]: news for news in heard}
    assert by_type.keys() == {"Transfer Started", "Transfer Finished"}
    finished = by_type["Transfer Finished"]
    assert (finished["status"], finished["bytes"]) == ("SUCCEEDED", run.report["bytes"])
    assert finished["costUsd"] == run.report["cost"]["total"]
    assert run.report["rateMBps"] in counted(account, "cpt-write-report", "TransferRate")


def test_failed_transfer_says_why(account: Account, subscriber: Subscriber, tmp_path: Path) -> None:
    run = account.run(account.request(tmp_path / "absent", tmp_path / "out"), "told-failed")
    finished = subscriber.until_finished("told-failed")[-1]
    CONTRACT.validate(finished)
    assert (finished["status"], finished["error"]) == ("FAILED", run.report["error"])
    assert str(tmp_path / "absent") in finished["cause"]


def test_alarms_and_dashboard_are_deployed_and_somebody_hears_of_each(account: Account) -> None:
    cloudwatch = account.aws.client("cloudwatch")
    alarms = cloudwatch.describe_alarms(AlarmNamePrefix="cpt-")["MetricAlarms"]
    assert len(alarms) >= 8
    topic = account.cloud.outputs["cpt-control"]["AlarmTopicArn"]
    assert [alarm["AlarmName"] for alarm in alarms if alarm["AlarmActions"] != [topic]] == []
    body = json.loads(cloudwatch.get_dashboard(DashboardName="cpt")["DashboardBody"])
    assert len(body["widgets"]) > 10
