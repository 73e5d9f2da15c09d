"""What the doctor says of the buckets whose objects start transfers; it changes none of them."""

import json
from typing import Any, ClassVar, cast

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws

from cli.aws import Aws
from cli.doctor.finding import Finding
from cli.doctor.starts import starts

WEST, IRELAND = "us-west-2", "eu-west-1"


class Buckets:
    """S3 of one region, which moto has without EventBridge: the notifications of its buckets."""

    def __init__(self, told: dict[str, bool]) -> None:
        self._told = told

    def get_bucket_notification_configuration(self, **asked: str) -> dict[str, Any]:
        if asked["Bucket"] not in self._told:
            error: Any = {"Error": {"Code": "NoSuchBucket", "Message": "no"}}
            raise ClientError(error, "GetBucketNotificationConfiguration")
        return {"EventBridgeConfiguration": {}} if self._told[asked["Bucket"]] else {"QueueConfigurations": []}


class Account:
    """What the checks ask of `Aws`; whatever would change a bucket it has not."""

    region, deployment = WEST, "cpt"
    buckets: ClassVar = {WEST: Buckets({"told": True, "untold": False}), IRELAND: Buckets({"far": False})}

    def client(self, service: str, region: str = WEST) -> Any:
        return self.buckets[region] if service == "s3" else boto3.client(cast(Any, service), region_name=region)


def rule(start: str, name: str, region: str | None = None, bus: str = "default") -> None:
    pattern: dict[str, Any] = {"source": ["aws.s3"], "detail": {"bucket": {"name": [name]}}}
    if region:
        pattern["region"] = [region]
    boto3.client("events", region_name=WEST).put_rule(
        Name=f"cpt-objects-{start}", EventPattern=json.dumps(pattern), EventBusName=bus
    )


def found() -> dict[str, Finding]:
    return {finding.about: finding for finding in starts(cast(Aws, Account()))}


@mock_aws
def test_a_bucket_that_tells_nobody_is_named_with_what_its_owner_does() -> None:
    boto3.client("events", region_name=WEST).create_event_bus(Name="cpt")
    rule("told", "told")
    rule("untold", "untold", WEST)
    rule("far", "far", IRELAND, "cpt")
    rule("gone", "gone")
    says = found()
    assert {about: finding.status for about, finding in says.items()} == {
        "told": "ok",
        "untold": "failed",
        "far": "failed",
        "gone": "failed",
    }
    assert "--region eu-west-1 --bucket far" in str(says["far"].remedy)
    assert "replaces all notifications" in str(says["untold"].remedy)
    assert says["gone"].message == "there is no bucket gone"


@mock_aws
def test_a_deployment_without_such_starts_says_so() -> None:
    boto3.client("events", region_name=WEST).create_event_bus(Name="cpt")
    (only,) = found().values()
    assert (only.status, only.message) == ("ok", "no start listens to a bucket")
