"""What S3 asks the policies, as IAM's reference of S3's actions and S3's user guide tell."""

import json
import uuid
from typing import Any

import boto3
import pytest

from local.cloud import LocalCloud
from tests.local.assembly import HOME
from tests.local.conftest import Acting
from tests.local.objects import refusal

DENIED = ("AccessDenied", 403)
UNKNOWN = ("403", 403)
"""A head has no body, and its error no code."""


def allow(actions: str | list[str], resource: str, **condition: Any) -> dict[str, Any]:
    statement: dict[str, Any] = {"Effect": "Allow", "Action": actions, "Resource": resource}
    return statement | ({"Condition": condition} if condition else {})


def arn(at: dict[str, str]) -> str:
    return f"arn:aws:s3:::{at['Bucket']}/{at['Key']}"


@pytest.mark.parametrize(
    ("words", "action"),
    [({"Tagging": "a=b"}, "s3:PutObjectTagging"), ({"ACL": "bucket-owner-full-control"}, "s3:PutObjectAcl")],
)
def test_what_comes_with_a_write_has_an_action_of_its_own(
    s3: Any, acting: Acting, at: dict[str, str], words: dict[str, str], action: str
) -> None:
    mine = acting([allow("s3:PutObject", arn(at))], "s3")
    assert refusal(mine.put_object, **at, Body=b"", **words) == DENIED
    assert refusal(mine.create_multipart_upload, **at, **words) == DENIED
    acting([allow(["s3:PutObject", action], arn(at))], "s3").put_object(**at, Body=b"", **words)


def test_a_copy_of_what_has_tags_reads_and_writes_them(s3: Any, acting: Acting, at: dict[str, str]) -> None:
    source = at | {"Key": f"{at['Key']}-source"}
    s3.put_object(**source, Body=b"", Tagging="a=b")
    whole = [allow(["s3:PutObject", "s3:PutObjectTagging"], arn(at)), allow("s3:GetObject", arn(source))]
    assert refusal(acting(whole, "s3").copy_object, **at, CopySource=source) == DENIED
    acting(whole, "s3").copy_object(**at, CopySource=source, TaggingDirective="REPLACE")
    acting([*whole, allow("s3:GetObjectTagging", arn(source))], "s3").copy_object(**at, CopySource=source)
    assert s3.get_object_tagging(**at)["TagSet"] == [{"Key": "a", "Value": "b"}]


def test_the_number_of_tags_is_told_to_who_may_read_them(s3: Any, acting: Acting, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=b"", Tagging="a=b")
    assert s3.get_object(**at)["TagCount"] == 1
    assert "TagCount" not in acting([allow("s3:GetObject", arn(at))], "s3").get_object(**at)


def test_a_version_is_read_by_another_action(s3: Any, acting: Acting, at: dict[str, str], versioned: str) -> None:
    key = {"Bucket": versioned, "Key": at["Key"]}
    version = s3.put_object(**key, Body=b"")["VersionId"]
    statements = [allow("s3:GetObject", arn(key)), allow("s3:PutObject", arn(at))]
    mine = acting(statements, "s3")
    assert refusal(mine.get_object, **key, VersionId=version) == DENIED
    assert refusal(mine.copy_object, **at, CopySource={**key, "VersionId": version}) == DENIED
    mine.copy_object(**at, CopySource=key)
    acting([*statements, allow("s3:GetObjectVersion", arn(key))], "s3").get_object(**key, VersionId=version)


def test_a_missing_key_is_told_to_who_may_list_it(s3: Any, acting: Acting, at: dict[str, str]) -> None:
    bucket, reads = f"arn:aws:s3:::{at['Bucket']}", allow(["s3:GetObject", "s3:PutObject"], "*")
    blind = acting([reads], "s3")
    assert refusal(blind.get_object, **at) == DENIED
    assert refusal(blind.head_object, **at) == UNKNOWN
    assert refusal(blind.copy_object, **at, CopySource=at | {"Key": "missing"}) == DENIED
    # S3 takes the key for s3:prefix.
    within = {"StringLike": {"s3:prefix": "key-*"}}
    mine = acting([reads, allow("s3:ListBucket", bucket, **within)], "s3")
    assert refusal(mine.get_object, **at) == ("NoSuchKey", 404)
    assert refusal(mine.head_object, **at) == ("404", 404)
    assert refusal(mine.get_object, **at | {"Key": "missing"}) == DENIED


def test_listings_are_bound_to_a_prefix_and_those_of_uploads_are_not(acting: Acting, at: dict[str, str]) -> None:
    actions = ["s3:ListBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads"]
    within = {"StringLike": {"s3:prefix": "mine/*"}}
    mine = acting([allow(actions, f"arn:aws:s3:::{at['Bucket']}", **within)], "s3")
    bucket = {"Bucket": at["Bucket"]}
    for call in (mine.list_objects_v2, mine.list_object_versions):
        call(**bucket, Prefix="mine/")
        for strange in ({}, {"Prefix": ""}, {"Prefix": "min"}, {"Prefix": "other/"}):
            assert refusal(call, **bucket, **strange) == DENIED
    # ListBucketMultipartUploads has no condition key s3:prefix.
    assert refusal(mine.list_multipart_uploads, **bucket, Prefix="mine/") == DENIED


def test_keys_that_begin_with_a_slash_are_others(acting: Acting, at: dict[str, str]) -> None:
    mine = acting([allow("s3:PutObject", arn(at))], "s3")
    mine.put_object(**at, Body=b"")
    for key in (f"/{at['Key']}", f"//{at['Key']}", "/"):
        assert refusal(mine.put_object, Bucket=at["Bucket"], Key=key, Body=b"") == DENIED


def test_a_session_policy_narrows_its_role(cloud: LocalCloud, s3: Any, acting: Acting, at: dict[str, str]) -> None:
    other = at | {"Key": f"{at['Key']}-other"}
    session = acting([allow("s3:*", "*"), allow("sts:AssumeRole", "*")], "sts")
    role = session.get_caller_identity()["Arn"].split("/")[1]
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow("s3:PutObject", arn(at))]})
    named = {"RoleArn": f"arn:aws:iam::{cloud.config.account}:role/{role}", "RoleSessionName": "narrow"}
    keys = cloud.client("sts").assume_role(**named, Policy=policy)["Credentials"]
    mine = type(cloud)._make_client(cloud.endpoint, "s3", HOME)
    mine._request_signer._credentials.access_key = keys["AccessKeyId"]
    mine._request_signer._credentials.secret_key = keys["SecretAccessKey"]
    mine._request_signer._credentials.token = keys["SessionToken"]
    mine.put_object(**at, Body=b"")
    assert refusal(mine.put_object, **other, Body=b"") == DENIED
    assert refusal(mine.get_object, **at) == DENIED


def test_keys_are_deleted_and_refused_one_by_one(s3: Any, acting: Acting, at: dict[str, str]) -> None:
    other = f"{at['Key']}-other"
    for key in (at["Key"], other):
        s3.put_object(Bucket=at["Bucket"], Key=key, Body=b"")
    mine = acting([allow("s3:DeleteObject", arn(at))], "s3")
    for keys in ([other, at["Key"]], [other]):
        told = mine.delete_objects(Bucket=at["Bucket"], Delete={"Objects": [{"Key": key} for key in keys]})
        assert [(one["Key"], one["Code"]) for one in told["Errors"]] == [(other, "AccessDenied")]
        assert [one["Key"] for one in told.get("Deleted", [])] == [key for key in keys if key != other]
    assert refusal(s3.head_object, **at) == ("404", 404)
    s3.head_object(Bucket=at["Bucket"], Key=other)


def test_at_most_a_thousand_keys_are_deleted_at_once(s3: Any, at: dict[str, str]) -> None:
    many = {"Objects": [{"Key": str(number)} for number in range(1001)]}
    assert refusal(s3.delete_objects, Bucket=at["Bucket"], Delete=many) == ("MalformedXML", 400)


def test_who_replaces_a_state_may_read_it(s3: Any, acting: Acting, at: dict[str, str]) -> None:
    etag = s3.put_object(**at, Body=b"")["ETag"]
    mine = acting([allow("s3:PutObject", arn(at))], "s3")
    assert refusal(mine.put_object, **at, Body=b"", IfMatch=etag) == DENIED
    assert refusal(mine.put_object, **at, Body=b"", IfNoneMatch="*") == ("PreconditionFailed", 412)


def test_of_a_bucket_whose_requesters_pay_strangers_say_that_they_do(cloud: LocalCloud, s3: Any) -> None:
    name, stranger = f"paid-{uuid.uuid4()}", "111122223333"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": HOME})
    s3.put_object(Bucket=name, Key="k", Body=b"")
    everyone = {"Effect": "Allow", "Principal": {"AWS": stranger}, "Action": "s3:GetObject"}
    policy = {"Version": "2012-10-17", "Statement": [everyone | {"Resource": f"arn:aws:s3:::{name}/*"}]}
    s3.put_bucket_policy(Bucket=name, Policy=json.dumps(policy))
    keys = {"aws_access_key_id": stranger, "aws_secret_access_key": "test"}
    make: Any = boto3.client
    other = make("s3", region_name=HOME, endpoint_url=cloud.endpoint, **keys)
    other.get_object(Bucket=name, Key="k")
    s3.put_bucket_request_payment(Bucket=name, RequestPaymentConfiguration={"Payer": "Requester"})
    s3.get_object(Bucket=name, Key="k")
    assert refusal(other.get_object, Bucket=name, Key="k") == DENIED
    other.get_object(Bucket=name, Key="k", RequestPayer="requester")
