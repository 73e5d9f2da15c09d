"""S3, EventBridge, SSM and Step Functions adapters: what each answer of AWS means."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.retries.standard import ThrottledRetryableChecker
from botocore.stub import Stubber
from moto import mock_aws

from lambdas.adapters.events import EventBus
from lambdas.adapters.records import DocumentName, NotManagedError, OlderDocumentError
from lambdas.adapters.s3 import S3Objects
from lambdas.adapters.sns import SnsNotifications
from lambdas.adapters.ssm import SsmCommands
from lambdas.adapters.stepfunctions import StepFunctions
from lambdas.adapters.throttling import is_throttled
from lambdas.core.errors import MissingPermission, Throttled

MACHINE = "arn:aws:states:us-west-2:000000000000:stateMachine:cpt-transfer"


@pytest.fixture
def objects() -> Iterator[S3Objects]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-west-2")
        client.create_bucket(Bucket="control", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
        yield S3Objects(client, "control")


def test_objects_are_written_listed_read_by_line_and_deleted(objects: S3Objects) -> None:
    long = b"x" * 3_000_000
    objects.put("a/2", b"one\ntwo\n" + long + b"\n")
    objects.put("a/1", b"")
    assert objects.keys("a/") == ["a/1", "a/2"]
    assert list(objects.lines("a/2")) == [b"one", b"two", long]
    assert list(objects.lines("a/1")) == []
    assert (objects.read("a/1"), objects.read("a/3")) == (b"", None)
    assert objects.delete(["a/1", "a/2", "a/3"]) == 3
    assert objects.delete([]) == 0
    assert objects.keys("a/") == []


def stub(service: str) -> tuple[Any, Stubber]:
    client = boto3.client(service, region_name="us-west-2", aws_access_key_id="x", aws_secret_access_key="x")  # type: ignore[call-overload]
    stubber = Stubber(client)
    stubber.activate()
    return client, stubber


def test_objects_that_s3_did_not_delete_are_not_counted_and_come_again_where_it_asks_for_time() -> None:
    client, stubber = stub("s3")
    stubber.add_response("delete_objects", {"Errors": [{"Key": "b", "Code": "AccessDenied"}]})
    stubber.add_response("delete_objects", {"Errors": [{"Key": "b", "Code": "SlowDown"}]})
    assert S3Objects(client, "control").delete(["a", "b"]) == 1
    with pytest.raises(Throttled, match="1 objects of 2"):
        S3Objects(client, "control").delete(["a", "b"])


def test_whatever_botocore_takes_for_a_throttle_is_one() -> None:
    # The two that are none of a rate: a quota, and a transaction that another one is in the way of.
    others = {"LimitExceededException", "TransactionInProgressException"}
    known: list[str] = vars(ThrottledRetryableChecker)["_THROTTLED_ERROR_CODES"]
    assert all(map(is_throttled, set(known) - others))


@pytest.mark.parametrize("code", ["NoSuchKey", "AccessDenied"])
def test_an_object_that_is_not_there_is_none_whatever_s3_calls_it(code: str) -> None:
    client, stubber = stub("s3")
    stubber.add_client_error("get_object", code)
    stubber.add_client_error("get_object", "InternalError")
    assert S3Objects(client, "control").read("a") is None
    with pytest.raises(ClientError, match="InternalError"):
        S3Objects(client, "control").read("a")


def test_event_that_the_bus_refuses_is_throttled() -> None:
    client, stubber = stub("events")
    stubber.add_response("put_events", {"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]})
    stubber.add_response("put_events", {"FailedEntryCount": 1, "Entries": [{"ErrorMessage": "too fast"}]})
    bus = EventBus(client, "cpt")
    bus.put("Transfer Started", {"transferId": "first"})
    with pytest.raises(Throttled, match="too fast"):
        bus.put("Transfer Started", {"transferId": "first"})


@pytest.fixture
def ssm() -> tuple[SsmCommands, Stubber]:
    client, stubber = stub("ssm")
    return SsmCommands(client, "cpt"), stubber


def test_command_carries_its_parameters_and_stop_only_the_transfer(ssm: tuple[SsmCommands, Stubber]) -> None:
    commands, stubber = ssm
    answer = {"Command": {"CommandId": "11111111-1111-1111-1111-111111111111"}}
    parameters = {"TransferId": ["first"], "Command": ["eyJhIjoxfQ"]}
    common = {"InstanceIds": ["i-00000001"], "TimeoutSeconds": 30}
    stubber.add_response("send_command", answer, {**common, "DocumentName": "cpt-scan", "Parameters": parameters})
    stop = {**common, "DocumentName": "cpt-stop", "Parameters": {"TransferId": ["first"]}}
    stubber.add_response("send_command", answer, stop)
    assert commands.send("scan", ["i-00000001"], "first", {"a": 1}) == answer["Command"]["CommandId"]
    commands.send("stop", ["i-00000001"], "first", None)
    stubber.assert_no_pending_responses()


@pytest.mark.parametrize(("asked", "given"), [(2.5, 30), (99.7, 99), (870.0, 600)])
def test_command_has_its_time_to_be_started(ssm: tuple[SsmCommands, Stubber], asked: float, given: int) -> None:
    commands, stubber = ssm
    answer = {"Command": {"CommandId": "11111111-1111-1111-1111-111111111111"}}
    sent = {"InstanceIds": ["i-00000001"], "TimeoutSeconds": given, "DocumentName": "cpt-stop"}
    stubber.add_response("send_command", answer, {**sent, "Parameters": {"TransferId": ["first"]}})
    commands.send("stop", ["i-00000001"], "first", None, seconds=asked)
    stubber.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("status", "details", "started"),
    [
        ("TimedOut", "Delivery Timed Out", False),
        ("TimedOut", "DeliveryTimedOut", False),
        ("Failed", "Undeliverable", False),
        ("TimedOut", "Execution Timed Out", True),
        ("Failed", "Failed", True),
        ("Cancelled", "Cancelled", True),
    ],
)
def test_command_that_was_never_started_is_told_apart(
    ssm: tuple[SsmCommands, Stubber], status: str, details: str, started: bool
) -> None:
    commands, stubber = ssm
    stubber.add_response("get_command_invocation", {"Status": status, "StatusDetails": details})
    found = commands.result("1" * 36, "i-00000001")
    assert found is not None
    assert (found.succeeded, found.started) == (False, started)


def test_command_has_begun_once_ssm_has_a_time_for_it(ssm: tuple[SsmCommands, Stubber]) -> None:
    commands, stubber = ssm
    stubber.add_client_error("get_command_invocation", "InvocationDoesNotExist")
    for began in ("", "2026-11-27T12:00:00.000Z"):
        stubber.add_response("get_command_invocation", {"Status": "InProgress", "ExecutionStartDateTime": began})
    stubber.add_client_error("get_command_invocation", "ThrottlingException")
    assert [commands.started("1" * 36, "i-00000001") for _ in range(4)] == [False, False, True, True]


@pytest.mark.parametrize("refusal", ["InvalidCommandId", "ThrottlingException"])
def test_command_that_cannot_be_cancelled_any_more_is_left_alone(
    ssm: tuple[SsmCommands, Stubber], refusal: str
) -> None:
    commands, stubber = ssm
    wanted = {"CommandId": "1" * 36, "InstanceIds": ["i-00000001"]}
    stubber.add_response("cancel_command", {}, wanted)
    stubber.add_client_error("cancel_command", refusal)
    for _ in range(2):
        commands.cancel("1" * 36, "i-00000001")
    stubber.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("InvalidInstanceId", NotManagedError),
        ("AccessDeniedException", MissingPermission),
        ("ThrottlingException", Throttled),
    ],
)
def test_refused_command_is_told_apart(ssm: tuple[SsmCommands, Stubber], code: str, error: type[Exception]) -> None:
    commands, stubber = ssm
    for _ in range(10):
        stubber.add_client_error("send_command", code)
    with pytest.raises(error):
        commands.send("scan", ["i-00000001"], "first", {})


@pytest.mark.parametrize(("document", "tag"), [("scan", "cpt:end"), ("relay", "cpt:lent-to")])
def test_a_machine_without_its_owners_tag_is_named(
    ssm: tuple[SsmCommands, Stubber], document: DocumentName, tag: str
) -> None:
    commands, stubber = ssm
    refused = "arn:aws:ec2:eu-west-1:000000000000:instance/i-00000002"
    said = f"User: x is not authorized to perform: ssm:SendCommand on resource: {refused} because no policy allows it"
    stubber.add_client_error("send_command", "AccessDeniedException", said)
    with pytest.raises(MissingPermission, match="the machine i-00000002 is not tagged") as error:
        commands.send(document, ["i-00000001", "i-00000002"], "first", {})
    assert f" --resources i-00000002 --tags Key={tag},Value=cpt " in str(error.value)


def test_document_that_knows_of_no_answers_is_told_apart(ssm: tuple[SsmCommands, Stubber]) -> None:
    commands, stubber = ssm
    stubber.add_client_error("send_command", "InvalidParameters")
    with pytest.raises(OlderDocumentError):
        commands.send("scan", ["i-00000001"], "first", {}, answer="us-west-2 cpt-transfers first 00")


@pytest.mark.parametrize("status", ["Pending", "InProgress", "Delayed"])
def test_running_command_has_no_result_yet(ssm: tuple[SsmCommands, Stubber], status: str) -> None:
    commands, stubber = ssm
    stubber.add_client_error("get_command_invocation", "InvocationDoesNotExist")
    stubber.add_response("get_command_invocation", {"Status": status})
    command = "1" * 36
    assert commands.result(command, "i-00000001") is None
    assert commands.result(command, "i-00000001") is None


def test_finished_command_shows_status_and_both_outputs(ssm: tuple[SsmCommands, Stubber]) -> None:
    commands, stubber = ssm
    stubber.add_response(
        "get_command_invocation",
        {"Status": "Failed", "StatusDetails": "Failed", "StandardOutputContent": "o\n", "StandardErrorContent": "e\n"},
    )
    found = commands.result("1" * 36, "i-00000001")
    assert found is not None
    assert (found.succeeded, found.status, found.tail()) == (False, "Failed", "o\ne")


def test_listing_names_the_machines_where_a_command_has_ended(ssm: tuple[SsmCommands, Stubber]) -> None:
    commands, stubber = ssm
    listed = [
        {"InstanceId": f"i-0000000{number}", "Status": status, "StatusDetails": status}
        for number, status in enumerate(["Success", "InProgress", "Failed"])
    ]
    stubber.add_response("list_command_invocations", {"CommandInvocations": listed[:1], "NextToken": "2"})
    stubber.add_response("list_command_invocations", {"CommandInvocations": listed[1:]})
    found = commands.ended("1" * 36)
    assert {name: result.succeeded for name, result in found.items()} == {"i-00000000": True, "i-00000002": False}


def test_ssm_that_is_too_busy_to_say_is_asked_again(ssm: tuple[SsmCommands, Stubber]) -> None:
    commands, stubber = ssm
    stubber.add_client_error("list_command_invocations", "ThrottlingException")
    stubber.add_client_error("get_command_invocation", "ThrottlingException")
    assert (commands.ended("1" * 36), commands.result("1" * 36, "i-00000001")) == ({}, None)


def test_agents_that_answer_are_online(ssm: tuple[SsmCommands, Stubber]) -> None:
    commands, stubber = ssm
    information = [
        {"InstanceId": "i-00000001", "PingStatus": "Online"},
        {"InstanceId": "i-00000002", "PingStatus": "ConnectionLost"},
    ]
    stubber.add_response("describe_instance_information", {"InstanceInformationList": information})
    assert commands.online(["i-00000001", "i-00000002"]) == {"i-00000001"}
    assert commands.online([]) == set()


def test_letter_goes_to_the_topic() -> None:
    client, stubber = stub("sns")
    topic = "arn:aws:sns:us-west-2:000000000000:cpt-approvals"
    stubber.add_response("publish", {"MessageId": "1"}, {"TopicArn": topic, "Subject": "Approve a?", "Message": "b\nc"})
    SnsNotifications(client, topic).send("Approve a?", "b\nc")
    stubber.assert_no_pending_responses()


def test_mails_and_events_show_control_characters_of_names() -> None:
    client, stubber = stub("sns")
    shown = {"TopicArn": "arn:aws:sns:t", "Subject": "\\x1b[2J", "Message": "a\n\\u202eb"}
    stubber.add_response("publish", {"MessageId": "1"}, shown)
    SnsNotifications(client, "arn:aws:sns:t").send("\x1b[2J", "a\n\u202eb")
    stubber.assert_no_pending_responses()
    bus, events = stub("events")
    detail = json.dumps({"schemaVersion": 1, "type": "Transfer Finished", "cause": "a\n\\x07"})
    entry = {"Source": "cpt.control", "DetailType": "Transfer Finished", "Detail": detail, "EventBusName": "cpt"}
    events.add_response("put_events", {"FailedEntryCount": 0, "Entries": []}, {"Entries": [entry]})
    EventBus(bus, "cpt").put("Transfer Finished", {"cause": "a\n\x07"})
    events.assert_no_pending_responses()


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
def test_token_of_an_ended_task_is_no_error(code: str) -> None:
    client, stubber = stub("stepfunctions")
    for operation in ("send_task_success", "send_task_failure", "send_task_heartbeat"):
        stubber.add_client_error(operation, code)
    steps = StepFunctions(client, MACHINE)
    assert not steps.succeed("t", {})
    assert not steps.fail("t", "E", "c")
    assert not steps.heartbeat("t")


def test_answers_are_cut_to_what_step_functions_takes() -> None:
    client, stubber = stub("stepfunctions")
    stubber.add_response("send_task_success", {}, {"taskToken": "t", "output": json.dumps({"a": 1})})
    stubber.add_response("send_task_failure", {}, {"taskToken": "t", "error": "E" * 256, "cause": "c" * 32_768})
    steps = StepFunctions(client, MACHINE)
    assert steps.succeed("t", {"a": 1})
    assert steps.fail("t", "E" * 300, "c" * 40_000)


def test_unknown_execution_has_no_status() -> None:
    client, stubber = stub("stepfunctions")
    stubber.add_client_error("describe_execution", "ExecutionDoesNotExist")
    assert StepFunctions(client, MACHINE).status("arn:aws:states:us-west-2:000000000000:execution:a:b") is None


def test_execution_says_with_which_error_and_cause_it_ended() -> None:
    client, stubber = stub("stepfunctions")
    arn = "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:a"
    ended = {"executionArn": arn, "stateMachineArn": MACHINE, "startDate": 0}
    told = {**ended, "status": "ABORTED", "error": "Cancelled", "cause": "wrong disk"}
    stubber.add_response("describe_execution", told, {"executionArn": arn})
    stubber.add_response("describe_execution", {**ended, "status": "ABORTED"}, {"executionArn": arn})
    stubber.add_client_error("describe_execution", "ExecutionDoesNotExist")
    steps = StepFunctions(client, MACHINE)
    assert [steps.why(arn) for _ in range(3)] == [("Cancelled", "wrong disk"), ("", ""), ("", "")]


def test_an_execution_that_is_not_known_yet_is_nobodys_until_it_is() -> None:
    client, stubber = stub("stepfunctions")
    arn = "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:acme-a"
    known = {"executionArn": arn, "stateMachineArn": MACHINE, "startDate": 0, "status": "RUNNING"}
    stubber.add_client_error("describe_execution", "ExecutionDoesNotExist")
    stubber.add_response("describe_execution", {**known, "stateMachineAliasArn": f"{MACHINE}:acme"})
    stubber.add_response("describe_execution", known)
    steps = StepFunctions(client, MACHINE)
    with pytest.raises(Throttled, match="does not know"):
        steps.alias(arn)
    assert [steps.alias(arn), steps.alias(arn)] == [f"{MACHINE}:acme", None]


def test_a_tenants_executions_are_started_and_listed_through_his_alias() -> None:
    client, stubber = stub("stepfunctions")
    arn = "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:acme-a"
    asked = {"stateMachineArn": f"{MACHINE}:acme", "name": "acme-a", "input": "{}"}
    stubber.add_response("start_execution", {"executionArn": arn, "startDate": 0}, asked)
    stubber.add_response("list_executions", {"executions": []}, {"stateMachineArn": f"{MACHINE}:acme", "maxResults": 5})
    steps = StepFunctions(client, MACHINE)
    assert steps.start("acme-a", {}, "acme") == arn
    assert steps.ended(5, "acme") == []


def test_execution_is_started_once_by_its_name() -> None:
    client, stubber = stub("stepfunctions")
    asked = {"stateMachineArn": MACHINE, "name": "a", "input": '{"source": {}}'}
    arn = "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:a"
    stubber.add_response("start_execution", {"executionArn": arn, "startDate": 0}, asked)
    stubber.add_client_error("start_execution", "ExecutionAlreadyExists", expected_params=asked)
    stubber.add_client_error("start_execution", "StateMachineDoesNotExist", expected_params=asked)
    steps = StepFunctions(client, MACHINE)
    assert steps.start("a", {"source": {}}) == arn
    assert steps.start("a", {"source": {}}) == arn
    with pytest.raises(ClientError):
        steps.start("a", {"source": {}})
