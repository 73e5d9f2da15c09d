"""CopyObject and UploadPartCopy, as S3's API reference tells of them."""

from typing import Any

import pytest

from tests.local.objects import LEAST, crc64, refusal, upload

BODY = b"what is copied"


@pytest.fixture
def source(at: dict[str, str]) -> dict[str, str]:
    return {"Bucket": at["Bucket"], "Key": f"{at['Key']}-source"}


def test_a_copy_of_an_upload_is_one_object(s3: Any, at: dict[str, str], source: dict[str, str]) -> None:
    whole = b"x" * LEAST + BODY
    put = s3.put_object(**at, Body=whole)
    done = s3.complete_multipart_upload(**upload(s3, source, {1: b"x" * LEAST, 2: BODY}))
    copied = s3.copy_object(**at, CopySource=source)["CopyObjectResult"]
    assert (copied["ETag"], copied["ChecksumCRC64NVME"]) == (put["ETag"], crc64(whole))
    head = s3.head_object(**at, ChecksumMode="ENABLED")
    assert (head["ETag"], head["ChecksumType"]) == (put["ETag"], "FULL_OBJECT")
    assert s3.head_object(**source)["ETag"] == done["ETag"] != put["ETag"]


def test_a_copy_has_the_named_checksum_alone(s3: Any, at: dict[str, str], source: dict[str, str]) -> None:
    s3.put_object(**source, Body=BODY, ChecksumAlgorithm="CRC32")
    assert "ChecksumCRC32" in s3.copy_object(**at, CopySource=source)["CopyObjectResult"]
    copied = s3.copy_object(**at, CopySource=source, ChecksumAlgorithm="CRC64NVME")["CopyObjectResult"]
    assert ("ChecksumCRC32" in copied, copied["ChecksumCRC64NVME"]) == (False, crc64(BODY))


def test_a_copy_is_of_the_standard_class_unless_it_says_otherwise(
    s3: Any, at: dict[str, str], source: dict[str, str]
) -> None:
    s3.put_object(**source, Body=BODY, StorageClass="STANDARD_IA")
    s3.copy_object(**at, CopySource=source)
    assert "StorageClass" not in s3.head_object(**at)
    s3.copy_object(**at, CopySource=source, StorageClass="ONEZONE_IA")
    assert s3.head_object(**at)["StorageClass"] == "ONEZONE_IA"


@pytest.mark.parametrize("kind", ["GLACIER", "DEEP_ARCHIVE"])
def test_an_archived_object_is_neither_read_nor_copied(
    s3: Any, at: dict[str, str], source: dict[str, str], kind: str
) -> None:
    s3.put_object(**source, Body=BODY, StorageClass=kind)
    assert refusal(s3.get_object, **source) == ("InvalidObjectState", 403)
    assert refusal(s3.copy_object, **at, CopySource=source) == ("InvalidObjectState", 403)
    part = {**at, "UploadId": s3.create_multipart_upload(**at)["UploadId"], "PartNumber": 1}
    assert refusal(s3.upload_part_copy, **part, CopySource=source) == ("InvalidObjectState", 403)
    assert s3.head_object(**source)["StorageClass"] == kind


def test_an_object_is_not_copied_onto_itself_unless_something_changes(s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=BODY, Metadata={"a": "1"})
    assert refusal(s3.copy_object, **at, CopySource=at) == ("InvalidRequest", 400)
    s3.copy_object(**at, CopySource=at, MetadataDirective="REPLACE", Metadata={"a": "2"})
    assert s3.head_object(**at)["Metadata"] == {"a": "2"}


def test_a_version_is_copied_and_a_delete_marker_is_not(s3: Any, at: dict[str, str], versioned: str) -> None:
    key = {"Bucket": versioned, "Key": at["Key"]}
    version = s3.put_object(**key, Body=BODY)["VersionId"]
    s3.put_object(**key, Body=b"later")
    copied = s3.copy_object(**at, CopySource={**key, "VersionId": version})
    assert (copied["CopySourceVersionId"], s3.get_object(**at)["Body"].read()) == (version, BODY)
    marker = s3.delete_object(**key)["VersionId"]
    assert refusal(s3.copy_object, **at, CopySource=key) == ("NoSuchKey", 404)
    assert refusal(s3.copy_object, **at, CopySource={**key, "VersionId": marker}) == ("InvalidRequest", 400)
    assert refusal(s3.copy_object, **at, CopySource={**key, "VersionId": "none"}) == ("NoSuchVersion", 404)


@pytest.mark.parametrize("told", ["{bucket}", "{bucket}/", "192.0.2.1/key", "{bucket}/../key"])
def test_a_source_that_is_no_bucket_and_key_is_refused(s3: Any, at: dict[str, str], told: str) -> None:
    named = told.format(bucket=at["Bucket"])
    assert refusal(s3.copy_object, **at, CopySource=named) == ("InvalidArgument", 400)


def test_what_is_restored_lies_in_an_archive_that_can_be_asked(s3: Any, at: dict[str, str]) -> None:
    expedited = {"Days": 1, "GlacierJobParameters": {"Tier": "Expedited"}}
    for kind, refused in (
        ("STANDARD", ("ObjectAlreadyInActiveTierError", 403)),
        ("GLACIER_IR", ("InvalidObjectState", 403)),
        ("DEEP_ARCHIVE", ("InvalidArgument", 400)),
    ):
        s3.put_object(**at, Body=BODY, StorageClass=kind)
        assert refusal(s3.restore_object, **at, RestoreRequest=expedited) == refused
    s3.put_object(**at, Body=BODY, StorageClass="GLACIER")
    s3.restore_object(**at, RestoreRequest=expedited)
    assert refusal(s3.restore_object, **at, RestoreRequest=expedited) == ("RestoreAlreadyInProgress", 409)
