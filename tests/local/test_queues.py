"""Functions that read a queue: what a batch is, what comes again, and who may."""

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from local.config import Fault
from tests.local.assembly import HOME
from tests.local.conftest import noted


def queue_url(cloud: LocalCloud, name: str = "probe-queue") -> str:
    return str(cloud.client("sqs").get_queue_url(QueueName=name)["QueueUrl"])


def arn_of(cloud: LocalCloud, url: str) -> str:
    names = ["QueueArn"]
    return str(cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]["QueueArn"])


def send(cloud: LocalCloud, *details: dict[str, Any]) -> None:
    """Put messages into the queue while nobody reads it, so that they are one batch."""
    functions, url = cloud.client("lambda"), queue_url(cloud)
    (mapping,) = functions.list_event_source_mappings(EventSourceArn=arn_of(cloud, url))["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    put(cloud, url, *details)
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def put(cloud: LocalCloud, url: str, *details: dict[str, Any]) -> None:
    """Put ten messages at most into a queue, one after the other."""
    entries = [
        {"Id": str(number), "MessageBody": json.dumps({"detail": detail})} for number, detail in enumerate(details)
    ]
    cloud.client("sqs").send_message_batch(QueueUrl=url, Entries=entries)


def of(cloud: LocalCloud, mark: str) -> list[tuple[int, int]]:
    """Of each time that a message was handed over: the size of its batch, and which time it was."""
    found = [(note["detail"]["batch"], int(note["detail"]["receives"])) for note in noted(cloud, mark=mark)]
    return sorted(found, key=lambda one: one[1])


def marks(count: int) -> list[str]:
    return [str(uuid.uuid4()) for _ in range(count)]


def buried(cloud: LocalCloud, mark: str) -> bool:
    """Whether a message is among the dead letters; then it is taken out."""
    sqs, url = cloud.client("sqs"), cloud.outputs["probe-control"]["UnreadUrl"]
    letters = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0).get("Messages", [])
    mine = [letter for letter in letters if mark in letter["Body"]]
    for letter in mine:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=letter["ReceiptHandle"])
    return bool(mine)


@pytest.mark.parametrize("late", [False, True], ids=["within-the-call", "of-a-service"])
def test_event_of_a_rule_reaches_the_function_by_way_of_the_queue(cloud: LocalCloud, late: bool) -> None:
    (mark,) = marks(1)
    if late:
        fault = {"operation": "DeliverEvent", "region": HOME, "detailType": "Probe", "code": "Late", "lateSeconds": 0.1}
        cloud.spoil(Fault.model_validate(fault))
    entry = {"Source": "probe.queued", "DetailType": "Probe", "EventBusName": "probe"}
    cloud.client("events").put_events(Entries=[{**entry, "Detail": json.dumps({"mark": mark})}])
    found = cloud.wait_for(lambda: noted(cloud, mark=mark), 10)
    assert (found[0]["source"], found[0]["detail-type"], found[0]["detail"]["batch"]) == ("probe.queued", "Probe", 1)


def test_of_a_batch_what_failed_comes_again_alone_and_lies_in_the_dead_letters_at_last(cloud: LocalCloud) -> None:
    first, failing, last = marks(3)
    send(cloud, {"mark": first}, {"mark": failing, "fails": True}, {"mark": last})
    cloud.wait_for(lambda: buried(cloud, failing), 30)
    assert of(cloud, failing) == [(3, 1), (1, 2), (1, 3)]
    assert of(cloud, first) == of(cloud, last) == [(3, 1)]


def test_message_that_failed_is_hidden_for_the_visibility_timeout(cloud: LocalCloud) -> None:
    """Of an hour, however slow the machine is, nothing passes by; that it ends is seen by what comes again above."""
    url = cloud.client("sqs").create_queue(QueueName="hiding", Attributes={"VisibilityTimeout": "3600"})["QueueUrl"]
    mapping = cloud.client("lambda").create_event_source_mapping(
        EventSourceArn=arn_of(cloud, url), FunctionName="probe", FunctionResponseTypes=["ReportBatchItemFailures"]
    )
    failing, after = marks(2)
    put(cloud, url, {"mark": failing, "fails": True})
    cloud.wait_for(lambda: of(cloud, failing), 10)
    put(cloud, url, {"mark": after})
    cloud.wait_for(lambda: of(cloud, after), 10)
    cloud.client("lambda").delete_event_source_mapping(UUID=mapping["UUID"])
    assert of(cloud, after) == of(cloud, failing) == [(1, 1)]


@pytest.mark.parametrize(
    "spoilt",
    [
        {"raises": True},
        {"answer": {"batchItemFailures": [{"id": "a bad name"}]}},
        {"answer": {"batchItemFailures": [{"itemIdentifier": ""}]}},
        {"answer": "no document"},
    ],
    ids=["raises", "bad-name", "empty-id", "no-document"],
)
def test_function_that_fails_or_answers_in_another_form_gets_the_whole_batch_again(
    cloud: LocalCloud, spoilt: dict[str, Any]
) -> None:
    good, bad = marks(2)
    send(cloud, {"mark": good}, {"mark": bad, **spoilt})
    cloud.wait_for(lambda: of(cloud, good)[1:], 20)
    assert of(cloud, good)[:2] == [(2, 1), (2, 2)]
    cloud.wait_for(lambda: buried(cloud, good), 30)


@pytest.mark.parametrize("answer", [{}, {"batchItemFailures": []}, {"batchItemFailures": None}])
def test_answer_that_names_nothing_is_success(cloud: LocalCloud, answer: Any) -> None:
    good, after = marks(2)
    send(cloud, {"mark": good, "answer": answer})
    cloud.wait_for(lambda: of(cloud, good), 10)
    send(cloud, {"mark": after, "fails": True})
    cloud.wait_for(lambda: buried(cloud, after), 30)  # all that was to come again in this time has come
    assert of(cloud, good) == [(1, 1)]


def test_batch_is_ten_messages_at_most(cloud: LocalCloud) -> None:
    found = marks(25)
    for at in range(0, len(found), 10):
        send(cloud, *({"mark": mark} for mark in found[at : at + 10]))
    cloud.wait_for(lambda: all(of(cloud, mark) for mark in found), 20)
    sizes = [batch for mark in found for batch, _ in of(cloud, mark)]
    assert max(sizes) <= 10
    assert sum(1 / size for size in sizes) < len(found) / 2  # and far more than one


def test_with_a_window_messages_that_come_within_it_are_one_batch_of_more_than_ten(cloud: LocalCloud) -> None:
    url = cloud.client("sqs").create_queue(QueueName="windowed", Attributes={"VisibilityTimeout": "60"})["QueueUrl"]
    mapping = cloud.client("lambda").create_event_source_mapping(
        EventSourceArn=arn_of(cloud, url), FunctionName="probe", BatchSize=100, MaximumBatchingWindowInSeconds=4
    )
    found = marks(14)
    for some in (found[:10], found[10:]):
        put(cloud, url, *({"mark": mark} for mark in some))
    cloud.wait_for(lambda: all(of(cloud, mark) for mark in found), 20)
    cloud.client("lambda").delete_event_source_mapping(UUID=mapping["UUID"])
    assert {one for mark in found for one in of(cloud, mark)} == {(14, 1)}


@pytest.mark.parametrize(
    ("attributes", "asked", "why"),
    [
        ({"VisibilityTimeout": "1"}, {}, "visibility timeout: 1 seconds is less than Function timeout: 2 seconds"),
        ({}, {"BatchSize": 11}, "batch window in seconds must be greater than 0"),
    ],
)
def test_mapping_that_lambda_would_refuse_is_refused(
    cloud: LocalCloud, attributes: dict[str, str], asked: dict[str, Any], why: str
) -> None:
    url = cloud.client("sqs").create_queue(QueueName=f"refused-{uuid.uuid4()}", Attributes=attributes)["QueueUrl"]
    with pytest.raises(ClientError, match=why):
        cloud.client("lambda").create_event_source_mapping(
            EventSourceArn=arn_of(cloud, url), FunctionName="probe", **asked
        )


def test_mapping_needs_a_role_that_may_read_the_queue(cloud: LocalCloud) -> None:
    url = cloud.client("sqs").create_queue(QueueName=f"forbidden-{uuid.uuid4()}")["QueueUrl"]
    functions = cloud.client("lambda")
    mine = functions.get_function(FunctionName="probe")["Configuration"]["Role"]
    other = mine.replace("probe-function", "probe-scheduler")
    functions.update_function_configuration(FunctionName="probe-unlogged", Role=other)
    with pytest.raises(ClientError, match="permissions to call ReceiveMessage on SQS"):
        functions.create_event_source_mapping(EventSourceArn=arn_of(cloud, url), FunctionName="probe-unlogged")
    functions.update_function_configuration(FunctionName="probe-unlogged", Role=mine)


def test_queue_whose_policy_does_not_name_the_rule_gets_nothing_of_it(cloud: LocalCloud) -> None:
    (mark,) = marks(1)
    events, sqs = cloud.client("events"), cloud.client("sqs")
    dead = cloud.outputs["probe-control"]["UnreadUrl"]
    url = sqs.create_queue(QueueName="closed", Attributes={"Policy": json.dumps({"Version": "2012-10-17"})})["QueueUrl"]
    events.put_rule(Name="closed", EventBusName="probe", EventPattern=json.dumps({"source": ["probe.closed"]}))
    target = {"Id": "queue", "Arn": arn_of(cloud, url), "DeadLetterConfig": {"Arn": arn_of(cloud, dead)}}
    events.put_targets(Rule="closed", EventBusName="probe", Targets=[target])
    entry = {"Source": "probe.closed", "DetailType": "Probe", "EventBusName": "probe"}
    events.put_events(Entries=[{**entry, "Detail": json.dumps({"mark": mark})}])
    cloud.wait_for(lambda: buried(cloud, mark), 10)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
