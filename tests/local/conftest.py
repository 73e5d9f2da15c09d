"""One local cloud for all probes of a session; each test works on instances and executions of its own."""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.local import assembly
from tests.local.assembly import HOME

ANY = "arn:aws:ec2:us-west-2:*"
TAGGED: dict[str, Any] = {"StringEquals": {"aws:RequestTag/owner": "cpt"}}
OWNED: dict[str, Any] = {"StringEquals": {"ec2:ResourceTag/owner": "cpt"}}
Acting = Callable[[list[dict[str, Any]], str], Any]

SETTINGS = {
    "port": 0,
    "bootSeconds": 0.1,
    "ssmRegistrationSeconds": 0.05,
    "lambdaRetrySeconds": 0.05,
    "scheduleMinuteSeconds": 1.5,
    "shutdownMinuteSeconds": 0.5,
    "deliveryMinuteSeconds": 2,
    "visibilityMinuteSeconds": 1.5,
    "restoreHourSeconds": 3600,
    "spotGraceSeconds": 0.2,
    "invocationDoesNotExist": 1,
    "notFoundAfterLaunch": 1,
    "caps": {
        "interRegionMBps": 20,
        "intraRegionMBps": 160,
        "byType": {"c7gn.large": {"interRegionMBps": 40}},
        "launches": [{"tag": "role", "value": "relay", "every": 2, "factor": 0.25}],
    },
    "latency": {"remoteRegionSeconds": 0.03, "ssmSeconds": 0.02},
}


@pytest.fixture(scope="session")
def assembly_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small assembly."""
    return assembly.write(tmp_path_factory.mktemp("assembly with space") / "cdk.out")


@pytest.fixture(scope="session")
def grants_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the cloud records which permissions are used."""
    return tmp_path_factory.mktemp("grants") / "used.ndjson"


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory, assembly_path: Path, grants_file: Path) -> Iterator[LocalCloud]:
    """The running cloud, process mode."""
    made = LocalCloud(LocalConfig.model_validate(SETTINGS), tmp_path_factory.mktemp("state with space"), assembly_path)
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("CPT_RECORD_GRANTS", str(grants_file))
            stack.enter_context(made)
        yield made


@pytest.fixture(scope="session")
def vm(cloud: LocalCloud) -> str:
    """An instance of the home region that is online."""
    return cloud.launch_vm(HOME, "probe")


@pytest.fixture(scope="module")
def s3(cloud: LocalCloud) -> Any:
    """A client that adds no checksum of its own, and does not try again."""
    options = Config(
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        retries={"total_max_attempts": 1},
    )
    return boto3.client(
        "s3",
        endpoint_url=cloud.endpoint,
        region_name=HOME,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=options,
    )


@pytest.fixture(scope="module")
def bucket(s3: Any) -> str:
    name = f"objects-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": HOME})
    return name


@pytest.fixture(scope="module")
def versioned(s3: Any) -> str:
    """A bucket that keeps versions."""
    name = f"versions-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": HOME})
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


@pytest.fixture
def at(bucket: str) -> dict[str, str]:
    """A key of this test's own."""
    return {"Bucket": bucket, "Key": f"key-{uuid.uuid4()}"}


@pytest.fixture
def acting(cloud: LocalCloud) -> Acting:
    """A client of a fresh role with these statements."""

    def client(statements: list[dict[str, Any]], service: str) -> Any:
        iam, name = cloud.client("iam"), f"acting-{uuid.uuid4()}"
        trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
        role = iam.create_role(
            RoleName=name, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        )["Role"]["Arn"]
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document)
        keys = cloud.client("sts").assume_role(RoleArn=role, RoleSessionName="probe")["Credentials"]
        session = boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], HOME)
        make: Any = session.client
        return make(service, endpoint_url=cloud.endpoint)

    return client


@pytest.fixture
def shell(cloud: LocalCloud) -> Callable[..., dict[str, Any]]:
    """Runs a script on an instance by Run Command and returns the finished invocation."""

    def run(instance_id: str, script: str, region: str = HOME, **options: Any) -> dict[str, Any]:
        answer = cloud.client("ssm", region).send_command(
            InstanceIds=[instance_id],
            DocumentName="AWS-RunShellScript",
            Parameters={"commands": [script], **options},
        )
        return finished(cloud, answer["Command"]["CommandId"], instance_id, region)

    return run


def finished(cloud: LocalCloud, command_id: str, instance_id: str, region: str = HOME) -> dict[str, Any]:
    """The invocation once it has ended."""
    ssm = cloud.client("ssm", region)

    def look() -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = ssm.get_command_invocation(CommandId=command_id, InstanceId=instance_id)
        except ssm.exceptions.InvocationDoesNotExist:
            return None
        return None if found["Status"] in ("Pending", "InProgress") else found

    return cloud.wait_for(look, 30)


def invoke(cloud: LocalCloud, **event: Any) -> tuple[str | None, Any]:
    """Invoke the probe function: its FunctionError and its payload."""
    answer = cloud.client("lambda").invoke(FunctionName="probe", Payload=json.dumps(event))
    return answer.get("FunctionError"), json.loads(answer["Payload"].read())


def noted(cloud: LocalCloud, **wanted: Any) -> list[dict[str, Any]]:
    """Events that the probe function has written down and whose detail has these values."""
    items = cloud.client("dynamodb").scan(TableName="probe-events")["Items"]
    events = [json.loads(item["event"]["S"]) for item in items if "event" in item]
    return [
        event for event in events if all(event.get("detail", {}).get(key) == value for key, value in wanted.items())
    ]
