"""What AWS's models do not allow is refused when it is asked, and noted when it is answered."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from local.cloud import LocalCloud, LocalCloudError
from local.config import LocalConfig
from local.conformance.constraints import Violation
from local.conformance.door import Notes, conforming
from local.conformance.operations import Request, service_of
from tests.local.assembly import HOME

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
LAUNCHED = "<Launched><instancesSet><item><instanceType>{}</instanceType></item></instancesSet></Launched>"


@pytest.mark.parametrize(
    ("service", "operation", "asked", "code", "told"),
    [
        ("stepfunctions", "start_execution", {"stateMachineArn": "a", "name": "n" * 81}, "ValidationException", "name"),
        ("ssm", "describe_parameters", {"MaxResults": 51}, "ValidationException", "its value is 51, and 1 to 50"),
        (
            "ssm",
            "get_command_invocation",
            {"CommandId": "c" * 36, "InstanceId": "i-7"},
            "ValidationException",
            "pattern",
        ),
        ("dynamodb", "get_item", {"TableName": "probe-events"}, "ValidationException", "'Key' .* is required"),
        ("ec2", "describe_vpcs", {"MaxResults": 1}, "InvalidParameterValue", "its value is 1, and 5 to 1000"),
        ("ec2", "terminate_instances", {}, "MissingParameter", "InstanceIds"),
        ("iam", "get_role", {"RoleName": "r" * 65}, "ValidationError", "RoleName"),
        ("s3", "put_object", {"Bucket": "b", "Key": "k", "ACL": "mine"}, "InvalidArgument", "enum ObjectCannedACL"),
        ("lambda", "invoke", {"FunctionName": "probe", "InvocationType": "Later"}, "ValidationException", "enum"),
    ],
)
def test_what_a_model_does_not_allow_is_refused(
    cloud: LocalCloud, service: str, operation: str, asked: dict[str, Any], code: str, told: str
) -> None:
    make: Any = boto3.client  # its overloads name every service literally
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    unchecked = Config(parameter_validation=False)
    client = make(service, region_name=HOME, endpoint_url=cloud.endpoint, config=unchecked, **keys)
    with pytest.raises(ClientError, match=told) as refusal:
        getattr(client, operation)(**asked)
    assert refusal.value.response["Error"]["Code"] == code


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1), timedelta(seconds=-310)], ids=str)
@pytest.mark.parametrize(
    ("service", "method", "code", "status"),
    [
        ("dynamodb", "POST", "InvalidSignatureException", 400),
        ("lambda", "GET", "InvalidSignatureException", 403),
        ("ec2", "POST", "RequestExpired", 400),
        ("iam", "POST", "SignatureDoesNotMatch", 403),
        ("s3", "GET", "RequestTimeTooSkewed", 403),
    ],
)
def test_a_request_that_was_signed_by_another_time_is_refused_with_the_time_that_it_is(
    cloud: LocalCloud, service: str, method: str, code: str, status: int, ahead: timedelta
) -> None:
    """S3 takes up to 15 minutes, the others 5; clients correct themselves by the answer's date."""
    at = datetime.now(UTC) + ahead
    if service == "s3" and abs(ahead) < timedelta(minutes=15):
        code, status = "", 200
    headers = {
        "x-amz-date": f"{at:%Y%m%dT%H%M%SZ}",
        "authorization": f"AWS4-HMAC-SHA256 Credential=test/{at:%Y%m%d}/{HOME}/{service}/aws4_request, Signature=0",
    }
    connection = HTTPConnection(urlsplit(cloud.endpoint).netloc)
    connection.request(method, "/", headers=headers)
    answer = connection.getresponse()
    assert code in answer.read().decode()
    assert answer.status == status
    [date] = answer.headers.get_all("date", [])
    assert abs(parsedate_to_datetime(date) - datetime.now(UTC)) < timedelta(seconds=30)


@pytest.mark.parametrize(
    ("request_", "answer", "found"),
    [
        (Request("states", "POST", "/", "", {"x-amz-target": "AWSStepFunctions.StartExecution"}),
         '{"executionArn": 7}',
         ["executionArn: 7 is no string", "startDate: is required"]),
        (Request("ec2", "POST", "/", "", FORM, b"Action=RunInstances"),
         LAUNCHED.format("t9.huge"),
         ["Instances[].InstanceType: 't9.huge' is not in the enum InstanceType"]),
        (Request("ec2", "POST", "/", "", FORM, b"Action=RunInstances"), LAUNCHED.format("t3.small"), []),
        (Request("lambda", "GET", "/2015-03-31/functions/probe", "", {}),
         '{"Configuration": {"MemorySize": 64}}',
         ["Configuration.MemorySize: its value is 64, and 128 to 32768 is allowed"]),
        (Request("s3", "GET", "/bucket", "list-type=2", {}),
         "<ListBucketResult><Contents><StorageClass>NONE</StorageClass></Contents></ListBucketResult>",
         ["Contents[].StorageClass: 'NONE' is not in the enum ObjectStorageClass"]),
    ],
    ids=lambda value: value.path if isinstance(value, Request) else "",
)  # fmt: skip
def test_what_a_model_does_not_allow_is_found_in_an_answer(request_: Request, answer: str, found: list[str]) -> None:
    service = service_of(request_.service)
    assert service
    operation = service.operation(request_)
    assert operation
    violations = service.answered(operation, 200, {"content-type": "text/xml"}, answer.encode())
    assert sorted(map(str, violations)) == found


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "operation"),
    [
        ("GET", "/", "", {}, "ListBuckets"),
        ("PUT", "/bucket/a/b", "", {}, "PutObject"),
        ("PUT", "/bucket/a/b", "", {"x-amz-copy-source": "bucket/c"}, "CopyObject"),
        ("PUT", "/bucket/a/b", "partNumber=1&uploadId=u", {}, "UploadPart"),
        ("GET", "/bucket/a%2Fb", "versionId=v", {}, "GetObject"),
        ("GET", "/bucket/", "policy", {}, "GetBucketPolicy"),
        ("GET", "/bucket", "list-type=2&prefix=a", {}, "ListObjectsV2"),
    ],
)
def test_operations_of_s3_are_told_apart(
    method: str, path: str, query: str, headers: dict[str, str], operation: str
) -> None:
    service = service_of("s3")
    assert service
    found = service.operation(Request("s3", method, path, query, headers))
    assert found
    assert found.name == operation


def test_an_answer_that_is_not_aws_s_passes_and_is_noted_once(tmp_path: Path) -> None:
    async def emulator(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"executionArn": "a"}'})

    async def asked(notes: Notes) -> bytes:
        sent = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b'{"stateMachineArn": "a"}'}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        signed = b"AWS4-HMAC-SHA256 Credential=test/20260101/us-west-2/states/aws4_request"
        headers = [(b"authorization", signed), (b"x-amz-target", b"AWSStepFunctions.StartExecution")]
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
        await conforming(emulator, notes)(scope, receive, send)
        return bytes(sent[1]["body"])

    notes = Notes(tmp_path / "noted")
    for _ in range(2):
        assert json.loads(asyncio.run(asked(notes))) == {"executionArn": "a"}
    assert (tmp_path / "noted").read_text() == "states.StartExecution\tstartDate: is required\n"


def test_what_is_known_of_an_operation_is_not_noted(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "noted")
    for operation, path in (("dynamodb.BatchGetItem", "UnprocessedKeys"), ("ssm.GetCommandInvocation", "Status")):
        notes.add(operation, Violation(path, "wrong"))
    assert (tmp_path / "noted").read_text() == "ssm.GetCommandInvocation\tStatus: wrong\n"


def test_a_cloud_that_noted_an_answer_ends_with_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(LocalCloudError, match=r"never answers.*\nec2.DescribeVpcs\tVpcs: wrong"),
        LocalCloud(LocalConfig(port=0), tmp_path / "state", None) as cloud,
    ):
        cloud.state.violations.write_text("ec2.DescribeVpcs\tVpcs: wrong\n")
    assert not cloud.state.violations.exists()
