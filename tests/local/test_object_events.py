"""Events of objects at EventBridge, as S3's user guide tells of them, and credentials and faults of its calls."""

import json
import uuid
from typing import Any

import pytest

from local.cloud import LocalCloud
from local.config import Fault
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import Acting
from tests.local.objects import refusal, upload


def watched(cloud: LocalCloud, region: str) -> tuple[Any, str, str]:
    """A client of a region, a bucket there that keeps versions, and the queue of its events."""
    s3, events, sqs = (cloud.client(service, region) for service in ("s3", "events", "sqs"))
    name = f"watched-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": region})
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    s3.put_bucket_notification_configuration(
        Bucket=name, NotificationConfiguration={"EventBridgeConfiguration": {}}, SkipDestinationValidation=True
    )
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    allow = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    pattern = {"source": ["aws.s3"], "detail": {"bucket": {"name": [name]}}}
    events.put_rule(Name=name, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn}])
    return s3, name, url


def received(cloud: LocalCloud, region: str, url: str, count: int) -> list[dict[str, Any]]:
    """The events of a queue, in the order of their sequencers."""
    sqs, found = cloud.client("sqs", region), []

    def look() -> bool:
        for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            found.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return len(found) >= count

    cloud.wait_for(look, 10)
    return sorted(found, key=lambda event: str(event["detail"]["object"]["sequencer"]))


@pytest.mark.parametrize("region", [HOME, OTHER])
def test_each_way_to_write_an_object_tells_its_version_in_its_region(cloud: LocalCloud, region: str) -> None:
    s3, bucket, url = watched(cloud, region)
    key = {"Bucket": bucket, "Key": "a b/é"}
    put = s3.put_object(**key, Body=b"123")
    copied = s3.copy_object(**key, CopySource=key, MetadataDirective="REPLACE")
    done = s3.complete_multipart_upload(**upload(s3, key, {1: b"12345"}))
    deleted = s3.delete_object(**key)
    events = received(cloud, region, url, 4)
    assert {event["region"] for event in events} == {region}
    assert [event["detail-type"] for event in events] == ["Object Created"] * 3 + ["Object Deleted"]
    told = [event["detail"] for event in events]
    assert [one["object"]["version-id"] for one in told] == [one["VersionId"] for one in (put, copied, done, deleted)]
    assert [one["object"]["key"] for one in told] == ["a b/é"] * 4
    assert [one["reason"] for one in told] == ["PutObject", "CopyObject", "CompleteMultipartUpload", "DeleteObject"]
    assert [(one["object"]["size"], one["object"]["etag"]) for one in told[:3]] == [
        (3, put["ETag"].strip('"')),
        (3, put["ETag"].strip('"')),
        (5, done["ETag"].strip('"')),
    ]


def test_a_token_expires(cloud: LocalCloud, acting: Acting, at: dict[str, str]) -> None:
    everything = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
    s3, other = acting(everything, "s3"), acting(everything, "s3")
    s3.put_object(**at, Body=b"")
    cloud.expire(s3._request_signer._credentials.access_key)
    acting(everything, "sts").get_caller_identity()
    for _ in range(2):
        assert refusal(s3.put_object, **at, Body=b"") == ("ExpiredToken", 400)
    assert refusal(s3.head_object, **at) == ("400", 400)
    other.put_object(**at, Body=b"")


def test_a_prefix_is_slowed_down_as_often_as_a_script_says(cloud: LocalCloud, s3: Any, at: dict[str, str]) -> None:
    slow, other = f"{at['Key']}/slow/", f"{at['Key']}/other/"
    cloud.spoil(Fault(operation="s3:*", region=HOME, prefix=slow, code="SlowDown", count=3))
    words = {"Bucket": at["Bucket"]}
    s3.put_object(**words, Key=f"{other}a", Body=b"")
    s3.list_objects_v2(**words, Prefix=other)
    assert refusal(s3.put_object, **words, Key=f"{slow}a", Body=b"") == ("SlowDown", 503)
    assert refusal(s3.list_objects_v2, **words, Prefix=slow) == ("SlowDown", 503)
    assert refusal(s3.head_object, **words, Key=f"{slow}a") == ("503", 503)
    s3.put_object(**words, Key=f"{slow}a", Body=b"")


def test_a_bucket_of_another_region_is_told_by_a_redirect(cloud: LocalCloud, s3: Any) -> None:
    name = f"elsewhere-{uuid.uuid4()}"
    there = cloud.client("s3", OTHER)
    there.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": OTHER})
    # botocore follows it; what it follows is in the answer to the first call.
    seen = []
    s3.meta.events.register_first("needs-retry.s3.PutObject", lambda response, **_: seen.append(response))
    s3.put_object(Bucket=name, Key="k", Body=b"")
    told, answer = seen[0][1], seen[0][0]
    assert (answer.status_code, told["Error"]["Code"]) == (301, "PermanentRedirect")
    assert answer.headers["x-amz-bucket-region"] == OTHER
    assert there.head_object(Bucket=name, Key="k")["ContentLength"] == 0
