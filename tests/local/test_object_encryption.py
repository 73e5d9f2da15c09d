"""Encryption of objects, as S3's user guide tells of it."""

from typing import Any

import pytest

from local.cloud import LocalCloud
from tests.local.conftest import Acting
from tests.local.objects import refusal

DENIED = ("AccessDenied", 403)
BY_KEY = {"ServerSideEncryption": "aws:kms"}


@pytest.fixture(scope="module")
def key(cloud: LocalCloud) -> str:
    return str(cloud.client("kms").create_key()["KeyMetadata"]["Arn"])


def test_what_says_nothing_is_encrypted_by_s3(s3: Any, at: dict[str, str]) -> None:
    begun = s3.create_multipart_upload(**at)
    part = s3.upload_part(**at, UploadId=begun["UploadId"], PartNumber=1, Body=b"")
    answers = [begun, part, s3.put_object(**at, Body=b""), s3.head_object(**at), s3.get_object(**at)]
    assert [answer["ServerSideEncryption"] for answer in answers] == ["AES256"] * 5


def test_a_write_names_its_key_or_takes_that_of_amazon(s3: Any, at: dict[str, str], key: str) -> None:
    named = BY_KEY | {"SSEKMSKeyId": key.rpartition("/")[2]}
    for put in (s3.put_object(**at, Body=b"", **named), s3.head_object(**at)):
        assert (put["ServerSideEncryption"], put["SSEKMSKeyId"]) == ("aws:kms", key)
    assert s3.create_multipart_upload(**at, **named)["SSEKMSKeyId"] == key
    assert s3.put_object(**at, Body=b"", **BY_KEY)["SSEKMSKeyId"] not in ("", key)


def test_a_copy_has_the_encryption_of_its_own_request(s3: Any, at: dict[str, str], key: str) -> None:
    source = at | {"Key": f"{at['Key']}-source"}
    s3.put_object(**source, Body=b"", **BY_KEY, SSEKMSKeyId=key)
    assert s3.copy_object(**at, CopySource=source)["ServerSideEncryption"] == "AES256"


def test_a_key_that_is_not_there_or_disabled_is_refused(cloud: LocalCloud, s3: Any, at: dict[str, str]) -> None:
    kms = cloud.client("kms")
    gone = kms.create_key()["KeyMetadata"]["Arn"]
    missing = gone[:-12] + "0" * 12
    assert refusal(s3.put_object, **at, Body=b"", **BY_KEY, SSEKMSKeyId=missing) == ("KMS.NotFoundException", 400)
    kms.disable_key(KeyId=gone)
    assert refusal(s3.put_object, **at, Body=b"", **BY_KEY, SSEKMSKeyId=gone) == ("KMS.DisabledException", 400)


def test_who_writes_or_reads_under_a_key_needs_it(s3: Any, acting: Acting, at: dict[str, str], key: str) -> None:
    objects = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    named = BY_KEY | {"SSEKMSKeyId": key}
    s3.put_object(**at, Body=b"", **named)
    without = acting([objects], "s3")
    assert refusal(without.get_object, **at) == DENIED
    assert refusal(without.put_object, **at, Body=b"", **named) == DENIED
    assert refusal(without.copy_object, **at | {"Key": f"{at['Key']}-copy"}, CopySource=at) == DENIED
    without.head_object(**at)
    assert refusal(without.head_object, **at, ChecksumMode="ENABLED") == ("403", 403)
    writes = acting([objects, {"Effect": "Allow", "Action": "kms:GenerateDataKey", "Resource": key}], "s3")
    writes.put_object(**at, Body=b"", **named)
    # An upload in parts is read again while it is completed.
    assert refusal(writes.create_multipart_upload, **at, **named) == DENIED
    both = {"Effect": "Allow", "Action": ["kms:GenerateDataKey", "kms:Decrypt"], "Resource": key}
    assert acting([objects, both], "s3").create_multipart_upload(**at, **named)["SSEKMSKeyId"] == key


@pytest.mark.parametrize(("of_bucket", "of_write"), [(False, True), (True, False), (True, None), (False, None)])
def test_a_write_says_whether_its_object_has_a_bucket_key_else_the_bucket_does(
    s3: Any, acting: Acting, at: dict[str, str], key: str, *, of_bucket: bool, of_write: bool | None
) -> None:
    default = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": of_bucket}
    s3.put_bucket_encryption(Bucket=at["Bucket"], ServerSideEncryptionConfiguration={"Rules": [default]})
    said = {} if of_write is None else {"BucketKeyEnabled": of_write}
    has_one = of_bucket if of_write is None else of_write
    bucket = f"arn:aws:s3:::{at['Bucket']}"
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": "s3:*", "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": ["kms:GenerateDataKey", "kms:Decrypt"],
            "Resource": key,
            "Condition": {
                "StringEquals": {"kms:EncryptionContext:aws:s3:arn": bucket if has_one else f"{bucket}/{at['Key']}"}
            },
        },
    ]
    mine = acting(statements, "s3")
    put = mine.put_object(**at, Body=b"", **BY_KEY, SSEKMSKeyId=key, **said)
    assert put["BucketKeyEnabled"] == has_one
    # What the bucket does later is nothing to the object.
    default["BucketKeyEnabled"] = not of_bucket
    s3.put_bucket_encryption(Bucket=at["Bucket"], ServerSideEncryptionConfiguration={"Rules": [default]})
    assert mine.get_object(**at)["BucketKeyEnabled"] == has_one
    s3.delete_bucket_encryption(Bucket=at["Bucket"])
