"""From bucket to bucket by S3's own copies: the synthesized state machine and its functions, with nothing launched."""

import json
import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from lambdas.core.ends.key_list import KeyEntry, list_key, written
from local.cloud import LocalCloud
from local.config import Fault, LocalConfig
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized

SOURCE, DESTINATION = "team-data", "team-copy"
ALLOWED = [
    {"bucket": SOURCE, "prefix": "ours/", "region": HOME, "read": True},
    {"bucket": DESTINATION, "prefix": "kept/", "region": OTHER, "read": True, "write": True},
]
LARGE = os.urandom(20 << 20)
SMALL = {"a.txt": b"a", "folder/ä b?c": b"odd key", "empty": b""}


def ends(source: str = "ours/", destination: str = "kept/", **more: Any) -> dict[str, Any]:
    return {
        "source": {"kind": "bucket", "bucket": SOURCE, "prefix": source, "region": HOME},
        "destination": {"kind": "bucket", "bucket": DESTINATION, "prefix": destination, "region": OTHER},
        "chunkSizeMiB": 8,
        **more,
    }


def client_without_checksums(account: Account) -> Any:
    """A client that leaves the checksum to S3, which then computes CRC-64/NVME; boto3's own default is CRC-32."""
    config = Config(request_checksum_calculation="when_required")
    return boto3.client(
        "s3",
        HOME,
        endpoint_url=account.cloud.endpoint,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=config,
    )


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    work = tmp_path_factory.mktemp("account")
    templates = synthesized(work / "assembly", (HOME, OTHER), buckets=ALLOWED)
    with LocalCloud(LocalConfig.model_validate({"port": 0, "bootSeconds": 1.0}), work / "state", templates) as cloud:
        account = Account(cloud, work)
        for bucket, region in ((SOURCE, HOME), (DESTINATION, OTHER)):
            where: Any = {"LocationConstraint": region}
            cloud.client("s3", region).create_bucket(Bucket=bucket, CreateBucketConfiguration=where)
        s3 = client_without_checksums(account)
        for key, body in SMALL.items():
            s3.put_object(Bucket=SOURCE, Key=f"ours/{key}", Body=body)
        kept: Any = {"ContentType": "text/x-large", "Metadata": {"who": "us"}, "Tagging": "a=1&b=2%20c"}
        s3.put_object(Bucket=SOURCE, Key="ours/large", Body=LARGE, **kept)
        s3.put_object(Bucket=SOURCE, Key="theirs/secret", Body=b"secret")
        yield account


def bodies(account: Account, bucket: str, prefix: str) -> dict[str, bytes]:
    """What a bucket has below a prefix, read by its owner."""
    s3 = account.cloud.client("s3", OTHER if bucket == DESTINATION else HOME)
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
    return {
        one["Key"].removeprefix(prefix): s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read() for one in listed
    }


def test_objects_are_copied_with_what_belongs_to_them_and_nothing_is_launched_or_left(account: Account) -> None:
    before = account.cloud.client("ec2", HOME).describe_instances()["Reservations"]
    run = account.run(ends(), "first")
    assert run.status == "SUCCEEDED", run.cause
    assert bodies(account, DESTINATION, "kept/") == {**SMALL, "large": LARGE}
    assert (run.report["verified"], run.report["files"], run.report["bytes"]) == (True, 4, len(LARGE) + 8)
    assert run.report["copies"]["requests"] | {"list": 0} == {
        "list": 0,
        "head": 4,
        "copy": 3,
        "tags": 1,
        "begin": 1,
        "part": 3,
        "complete": 1,
    }
    s3 = account.cloud.client("s3", OTHER)
    found = s3.head_object(Bucket=DESTINATION, Key="kept/large")
    assert (found["ContentType"], found["Metadata"]) == ("text/x-large", {"who": "us"})
    tags = s3.get_object_tagging(Bucket=DESTINATION, Key="kept/large")["TagSet"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"a": "1", "b": "2 c"}
    assert s3.list_multipart_uploads(Bucket=DESTINATION).get("Uploads", []) == []
    assert account.cloud.client("ec2", HOME).describe_instances()["Reservations"] == before


def test_a_second_run_lists_and_copies_what_has_changed(account: Account) -> None:
    s3 = account.cloud.client("s3", HOME)
    s3.put_object(Bucket=SOURCE, Key="ours/a.txt", Body=b"b")
    run = account.run(ends(), "again")
    assert run.status == "SUCCEEDED", run.cause
    assert (run.report["files"], run.report["same"]["files"]) == (1, 3)
    assert (run.report["verified"], run.report["copies"]["proofs"]) == (False, {"CRC32": 1})
    assert set(run.report["copies"]["requests"]) == {"list", "head", "copy"}
    assert bodies(account, DESTINATION, "kept/")["a.txt"] == b"b"


def spoil(account: Account, **fault: Any) -> None:
    account.cloud.spoil(Fault.model_validate(fault))


FAULTS = [
    ("HeadObject", HOME, "SlowDown", 1),
    ("CopyObject", OTHER, "SlowDown", 2),
    ("CopyObject", OTHER, "ExpiredToken", 1),
    ("CopyObject", OTHER, "Cut", 1),
    ("UploadPartCopy", OTHER, "InternalError", 1),
    ("UploadPartCopy", OTHER, "Cut", 1),
    ("CompleteMultipartUpload", OTHER, "ErrorInBody", 1),
    ("CompleteMultipartUpload", OTHER, "Twice", 1),
]


def test_requests_that_fail_or_come_twice_and_a_function_that_is_lost_change_nothing(account: Account) -> None:
    """Each at the next request of its kind; and the state machine hears of no function's end."""
    for operation, region, code, count in FAULTS:
        where = {"prefix": "kept/spoiled/"} if region == OTHER else {"prefix": "ours/"}
        spoil(account, operation=operation, region=region, code=code, count=count, **where)
    spoil(account, operation="Invoke", region=HOME, function="cpt-copy-unit", code="Sandbox.Timedout")
    run = account.run(ends(destination="kept/spoiled/", overwrite="never"), "spoiled")
    assert run.status == "SUCCEEDED", run.cause
    assert bodies(account, DESTINATION, "kept/spoiled/") == {**SMALL, "a.txt": b"b", "large": LARGE}
    s3 = account.cloud.client("s3", OTHER)
    assert s3.list_multipart_uploads(Bucket=DESTINATION).get("Uploads", []) == []


def test_what_is_archived_refuses_copies_or_is_left_out_as_the_request_says(account: Account) -> None:
    s3 = account.cloud.client("s3", HOME)
    s3.put_object(Bucket=SOURCE, Key="ours/cold/x", Body=b"x", StorageClass="GLACIER")
    s3.put_object(Bucket=SOURCE, Key="ours/cold/y", Body=b"y", StorageClass="STANDARD_IA")
    run = account.run(ends("ours/cold/", "kept/cold/"), "cold")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert "1 objects of 1 B are archived (GLACIER: 1), 'x' the first of them: restoring costs about $" in str(
        run.cause
    )
    asked = ends("ours/cold/", "kept/cold/")
    asked["source"]["archived"] = "skip"
    run = account.run(asked, "without-cold")
    assert (run.status, run.report["unselected"]["counts"]) == ("SUCCEEDED", {"archived": 1}), run.cause
    there = account.cloud.client("s3", OTHER)
    assert there.head_object(Bucket=DESTINATION, Key="kept/cold/y")["StorageClass"] == "STANDARD_IA"
    assert set(bodies(account, DESTINATION, "kept/cold/")) == {"y"}
    s3.delete_objects(Bucket=SOURCE, Delete={"Objects": [{"Key": "ours/cold/x"}, {"Key": "ours/cold/y"}]})


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ends(source="theirs/"), "may not touch s3://team-data/theirs/"),
        (ends(destination="other/"), "may not touch s3://team-copy/other/"),
    ],
)
def test_a_neighbours_prefix_is_refused_before_anything_is_done(
    account: Account, request_: dict[str, Any], words: str
) -> None:
    run = account.run(request_, f"neighbour-{abs(hash(words)) % 1000}")
    assert (run.status, run.error) == ("FAILED", "InvalidRequest")
    assert words in str(run.cause)


def test_history_is_short_and_has_no_list(account: Account) -> None:
    client = account.aws.client("stepfunctions")
    arn = next(
        one["executionArn"]
        for one in client.list_executions(stateMachineArn=account.machine)["executions"]
        if one["name"] == "first"
    )
    events = client.get_execution_history(executionArn=arn, maxResults=1_000)["events"]
    text = json.dumps(events, default=str)
    assert "folder/" not in text
    assert len(events) < 120


def test_a_list_of_keys_copies_these_and_names_what_is_gone(account: Account) -> None:
    s3 = account.cloud.client("s3", HOME)
    for key in ("listed/1", "listed/2", "other"):
        s3.put_object(Bucket=SOURCE, Key=f"ours/keys/{key}", Body=key.encode())
    body = written(KeyEntry(key=f"ours/keys/{key}") for key in ("listed/1", "listed/2", "never"))
    s3.put_object(Bucket=account.bucket, Key=list_key(body), Body=body)
    asked = ends("ours/keys/", "kept/keys/")
    asked["source"]["keys"] = {"manifest": list_key(body)}
    run = account.run(asked, "by-keys")
    assert run.status == "SUCCEEDED", run.cause
    assert bodies(account, DESTINATION, "kept/keys/") == {"listed/1": b"listed/1", "listed/2": b"listed/2"}
    assert run.report["unselected"]["counts"] == {"gone": 1}
    assert "list" not in run.report["copies"]["requests"]


def test_copies_get_the_class_and_the_tags_of_the_request_and_each_bucket_its_owner(account: Account) -> None:
    s3 = account.cloud.client("s3", HOME)
    s3.put_object(Bucket=SOURCE, Key="ours/tagged/x", Body=b"x", Tagging="of=source")
    asked = ends("ours/tagged/", "kept/tagged/")
    asked["destination"] |= {"storageClass": "DEEP_ARCHIVE", "tags": {"of a": "request"}}
    run = account.run(asked, "tagged")
    assert run.status == "SUCCEEDED", run.cause
    there, key = account.cloud.client("s3", OTHER), {"Bucket": DESTINATION, "Key": "kept/tagged/x"}
    assert there.head_object(**key)["StorageClass"] == "DEEP_ARCHIVE"
    assert there.get_object_tagging(**key)["TagSet"] == [{"Key": "of a", "Value": "request"}]
    asked["source"]["expectedBucketOwner"] = "111122223333"
    run = account.run(asked, "not-theirs")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert "$.source.bucket: 's3://team-data/ours/tagged/' cannot be listed: AccessDenied" in str(run.cause)
    assert "expectedBucketOwner says whose it must be" in str(run.cause)
