"""S3's rules about objects and uploads, as the local cloud keeps them."""

import uuid
from typing import Any

import pytest
from botocore.awsrequest import AWSRequest
from botocore.exceptions import HTTPClientError, ResponseStreamingError

from local.cloud import LocalCloud
from local.config import Fault
from tests.local.assembly import HOME
from tests.local.objects import LEAST, crc64, in_two_pieces, refusal, upload

SMALL = b"the last part may be small"
WHOLE = b"x" * LEAST + SMALL


def test_the_full_crc_of_an_upload_is_that_of_its_bytes_and_is_told_by_every_look(s3: Any, at: dict[str, str]) -> None:
    done = s3.complete_multipart_upload(
        **upload(s3, at, {1: b"x" * LEAST, 2: SMALL}, ChecksumAlgorithm="CRC64NVME"),
        ChecksumCRC64NVME=crc64(WHOLE),
        ChecksumType="FULL_OBJECT",
        MpuObjectSize=len(WHOLE),
    )
    looks = [
        done,
        s3.head_object(**at, ChecksumMode="ENABLED"),
        s3.get_object(**at, ChecksumMode="ENABLED"),
        s3.get_object_attributes(**at, ObjectAttributes=["Checksum"])["Checksum"],
    ]
    assert {(look["ChecksumCRC64NVME"], look["ChecksumType"]) for look in looks} == {(crc64(WHOLE), "FULL_OBJECT")}
    assert s3.get_object(**at)["Body"].read() == WHOLE


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        ({"ChecksumCRC64NVME": crc64(b"other")}, "BadDigest"),
        ({"ChecksumType": "COMPOSITE"}, "InvalidRequest"),
        ({"MpuObjectSize": 1}, "InvalidRequest"),
        ({"IfMatch": '"0"'}, "NoSuchKey"),
    ],
)
def test_a_completion_that_states_something_wrong_is_refused_and_the_upload_stays(
    s3: Any, at: dict[str, str], stated: dict[str, Any], code: str
) -> None:
    words = upload(s3, at, {1: SMALL}, ChecksumAlgorithm="CRC64NVME")
    assert refusal(s3.complete_multipart_upload, **words, **stated)[0] == code
    s3.complete_multipart_upload(**words)


def test_with_checksums_the_numbers_of_parts_have_no_gaps_and_without_they_may(s3: Any, at: dict[str, str]) -> None:
    parts = {1: b"x" * LEAST, 3: SMALL}
    words = upload(s3, at, parts, ChecksumAlgorithm="CRC64NVME")
    assert refusal(s3.complete_multipart_upload, **words) == ("InvalidPartOrder", 400)
    s3.complete_multipart_upload(**upload(s3, at, parts))


def test_parts_out_of_order_are_refused(s3: Any, at: dict[str, str]) -> None:
    words = upload(s3, at, {1: b"x" * LEAST, 2: SMALL})
    words["MultipartUpload"]["Parts"].reverse()
    assert refusal(s3.complete_multipart_upload, **words) == ("InvalidPartOrder", 400)


def test_a_part_that_is_not_the_last_has_five_mebibytes(s3: Any, at: dict[str, str]) -> None:
    words = upload(s3, at, {1: b"x" * (LEAST - 1), 2: SMALL})
    assert refusal(s3.complete_multipart_upload, **words) == ("EntityTooSmall", 400)


def test_a_completed_upload_is_no_more_and_its_completion_is_answered_again(s3: Any, at: dict[str, str]) -> None:
    words = upload(s3, at, {1: SMALL})
    done = s3.complete_multipart_upload(**words)
    assert s3.complete_multipart_upload(**words)["ETag"] == done["ETag"]
    other = {"MultipartUpload": {"Parts": [{"PartNumber": 1, "ETag": '"0"'}]}}
    assert refusal(s3.complete_multipart_upload, **words | other) == ("NoSuchUpload", 404)
    part = {**at, "UploadId": words["UploadId"]}
    assert refusal(s3.upload_part, **part, PartNumber=1, Body=SMALL) == ("NoSuchUpload", 404)
    assert refusal(s3.list_parts, **part) == ("NoSuchUpload", 404)


def test_a_key_that_is_taken_is_not_replaced_by_who_wants_it_free(s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=b"first", IfNoneMatch="*")
    assert refusal(s3.put_object, **at, Body=b"second", IfNoneMatch="*") == ("PreconditionFailed", 412)
    words = upload(s3, at, {1: SMALL})
    assert refusal(s3.complete_multipart_upload, **words, IfNoneMatch="*") == ("PreconditionFailed", 412)
    assert s3.get_object(**at)["Body"].read() == b"first"


def test_a_composite_checksum_needs_that_of_each_part(s3: Any, at: dict[str, str]) -> None:
    upload_id = s3.create_multipart_upload(**at, ChecksumAlgorithm="SHA256")["UploadId"]
    part = {**at, "UploadId": upload_id, "PartNumber": 1, "Body": SMALL}
    assert refusal(s3.upload_part, **part) == ("InvalidRequest", 400)
    put = s3.upload_part(**part, ChecksumAlgorithm="SHA256")
    stated = {"PartNumber": 1, "ETag": put["ETag"]}
    words = {**at, "UploadId": upload_id}
    assert refusal(s3.complete_multipart_upload, **words, MultipartUpload={"Parts": [stated]})[0] == "InvalidRequest"
    stated["ChecksumSHA256"] = put["ChecksumSHA256"]
    done = s3.complete_multipart_upload(**words, MultipartUpload={"Parts": [stated]})
    assert (done["ChecksumType"], done["ChecksumSHA256"][-2:]) == ("COMPOSITE", "-1")


def test_bytes_that_are_not_those_of_their_checksum_are_refused(s3: Any, at: dict[str, str]) -> None:
    assert refusal(s3.put_object, **at, Body=SMALL, ChecksumCRC64NVME=crc64(b"other")) == ("BadDigest", 400)
    upload_id = s3.create_multipart_upload(**at, ChecksumAlgorithm="CRC64NVME")["UploadId"]
    part = {**at, "UploadId": upload_id, "PartNumber": 1, "Body": SMALL}
    assert refusal(s3.upload_part, **part, ChecksumCRC64NVME=crc64(b"other")) == ("BadDigest", 400)
    assert refusal(s3.upload_part, **part, ChecksumCRC32="AAAAAA==") == ("InvalidRequest", 400)


def test_an_object_without_a_checksum_gets_one(s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=SMALL)
    assert s3.head_object(**at, ChecksumMode="ENABLED")["ChecksumCRC64NVME"] == crc64(SMALL)


def test_tags_and_metadata_that_an_upload_was_begun_with_are_its_objects(s3: Any, at: dict[str, str]) -> None:
    s3.complete_multipart_upload(**upload(s3, at, {1: SMALL}, Tagging="a=b", Metadata={"file-mtime": "1"}))
    assert s3.get_object_tagging(**at)["TagSet"] == [{"Key": "a", "Value": "b"}]
    assert s3.head_object(**at)["Metadata"] == {"file-mtime": "1"}


def test_a_copied_part_has_the_checksum_and_is_of_the_source_that_was_named(s3: Any, at: dict[str, str]) -> None:
    source = {"Bucket": at["Bucket"], "Key": f"{at['Key']}-source"}
    etag = s3.put_object(**source, Body=SMALL)["ETag"]
    upload_id = s3.create_multipart_upload(**at, ChecksumAlgorithm="CRC64NVME")["UploadId"]
    words = {**at, "UploadId": upload_id, "PartNumber": 1, "CopySource": source}
    told = s3.upload_part_copy(**words, CopySourceRange="bytes=4-7", CopySourceIfMatch=etag)["CopyPartResult"]
    assert told["ChecksumCRC64NVME"] == crc64(SMALL[4:8])
    assert refusal(s3.upload_part_copy, **words, CopySourceIfMatch='"0"') == ("PreconditionFailed", 412)
    stranger = {"ExpectedSourceBucketOwner": "111122223333"}
    assert refusal(s3.upload_part_copy, **words, **stranger) == ("AccessDenied", 403)


def test_a_range_of_a_version_is_a_range(s3: Any) -> None:
    name = f"objects-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": HOME})
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    put = s3.put_object(Bucket=name, Key="k", Body=b"0123456789")
    s3.put_object(Bucket=name, Key="k", Body=b"later")
    words = {"Bucket": name, "Key": "k", "VersionId": put["VersionId"], "Range": "bytes=2-4"}
    answer = s3.get_object(**words, IfMatch=put["ETag"])
    assert (answer["ContentRange"], answer["Body"].read()) == ("bytes 2-4/10", b"234")
    assert refusal(s3.get_object, **words, IfMatch='"0"') == ("PreconditionFailed", 412)


def test_keys_are_listed_in_the_order_of_their_bytes_at_most_a_thousand_a_page(s3: Any, at: dict[str, str]) -> None:
    keys = sorted([f"{at['Key']}/{key}" for key in ("a", "B", "é", "z", "\U0001f600", "\uffee")], key=str.encode)
    for key in keys:
        s3.put_object(Bucket=at["Bucket"], Key=key, Body=b"")
    words = {"Bucket": at["Bucket"], "Prefix": at["Key"], "MaxKeys": 5000}
    answer = s3.list_objects_v2(**words)
    assert ([one["Key"] for one in answer["Contents"]], answer["MaxKeys"]) == (keys, 1000)
    after = s3.list_objects_v2(**words, StartAfter=keys[2])
    assert [one["Key"] for one in after["Contents"]] == keys[3:]


@pytest.mark.parametrize(
    ("code", "status"), [("SlowDown", 503), ("ConditionalRequestConflict", 409), ("InternalError", 500)]
)
def test_a_completion_is_refused_as_often_as_a_script_says(
    cloud: LocalCloud, s3: Any, at: dict[str, str], code: str, status: int
) -> None:
    words = upload(s3, at, {1: SMALL})
    cloud.spoil(Fault(operation="CompleteMultipartUpload", region=HOME, key=at["Key"], code=code))
    assert refusal(s3.complete_multipart_upload, **words) == (code, status)
    s3.complete_multipart_upload(**words)


def test_an_error_that_comes_after_200_is_an_error(cloud: LocalCloud, s3: Any, at: dict[str, str]) -> None:
    words = upload(s3, at, {1: SMALL})
    cloud.spoil(Fault(operation="CompleteMultipartUpload", region=HOME, key=at["Key"], code="ErrorInBody"))
    assert refusal(s3.complete_multipart_upload, **words)[0] == "InternalError"
    assert refusal(s3.head_object, **at)[1] == 404


def test_an_answer_is_cut_where_a_script_says(cloud: LocalCloud, s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=SMALL)
    cloud.spoil(Fault(operation="GetObject", region=HOME, key=at["Key"], code="Cut"))
    with pytest.raises(ResponseStreamingError):
        s3.get_object(**at)["Body"].read()
    assert s3.get_object(**at)["Body"].read() == SMALL


def test_an_answer_without_a_body_is_cut_too(cloud: LocalCloud, s3: Any, at: dict[str, str]) -> None:
    cloud.spoil(Fault(operation="PutObject", region=HOME, key=at["Key"], code="Cut"))
    with pytest.raises((ResponseStreamingError, HTTPClientError)):
        s3.put_object(**at, Body=SMALL)
    assert s3.get_object(**at)["Body"].read() == SMALL


def test_a_completion_that_comes_twice_finds_no_upload_once_s3_has_forgotten_it(
    cloud: LocalCloud, s3: Any, at: dict[str, str]
) -> None:
    words = upload(s3, at, {1: SMALL})
    cloud.spoil(Fault(operation="CompleteMultipartUpload", region=HOME, key=at["Key"], code="Twice"))
    assert refusal(s3.complete_multipart_upload, **words)[0] == "NoSuchUpload"
    assert s3.get_object(**at)["Body"].read() == SMALL


def test_uploads_are_listed_in_the_order_of_their_keys_and_by_common_prefixes(s3: Any, at: dict[str, str]) -> None:
    prefix = f"{at['Key']}/"
    begun = {
        key: s3.create_multipart_upload(Bucket=at["Bucket"], Key=prefix + key)["UploadId"]
        for key in ("b", "a/2", "a/1", "c")
    }
    words = {"Bucket": at["Bucket"], "Prefix": prefix}
    told = s3.list_multipart_uploads(**words, Delimiter="/")
    assert [one["Prefix"] for one in told["CommonPrefixes"]] == [f"{prefix}a/"]
    assert [one["UploadId"] for one in told["Uploads"]] == [begun["b"], begun["c"]]
    first = s3.list_multipart_uploads(**words, MaxUploads=3)
    marker = {"KeyMarker": first["NextKeyMarker"], "UploadIdMarker": first["NextUploadIdMarker"]}
    rest = s3.list_multipart_uploads(**words, **marker)
    listed = [one["UploadId"] for one in first["Uploads"] + rest["Uploads"]]
    assert listed == [begun[key] for key in ("a/1", "a/2", "b", "c")]


def test_a_head_of_a_range_is_that_of_the_range(s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=b"0123456789")
    head = s3.head_object(**at, Range="bytes=2-4")
    assert (head["ContentLength"], head["ContentRange"]) == (3, "bytes 2-4/10")


def test_a_write_that_wants_another_etag_than_one_is_not_implemented(s3: Any, at: dict[str, str]) -> None:
    assert refusal(s3.put_object, **at, Body=b"", IfNoneMatch='"0"') == ("NotImplemented", 501)


def test_a_write_answers_with_the_checksum_and_a_copy_keeps_it(s3: Any, at: dict[str, str]) -> None:
    assert s3.put_object(**at, Body=SMALL)["ChecksumCRC64NVME"] == crc64(SMALL)
    copied = s3.copy_object(Bucket=at["Bucket"], Key=f"{at['Key']}-copy", CopySource=at)["CopyObjectResult"]
    assert copied["ChecksumCRC64NVME"] == crc64(SMALL)


@pytest.mark.parametrize(
    ("words", "code"),
    [({"Metadata": {"name": "v" * 2045}}, "MetadataTooLarge"), ({"Key": "k" * 1025}, "KeyTooLongError")],
)
def test_what_is_too_long_is_refused(s3: Any, at: dict[str, str], words: dict[str, Any], code: str) -> None:
    assert refusal(s3.put_object, **at | {"Body": b""} | words) == (code, 400)


@pytest.mark.parametrize("key", ["../key", "a/../../key", "/../key"])
def test_a_key_that_leads_above_its_bucket_is_refused(s3: Any, at: dict[str, str], key: str) -> None:
    assert refusal(s3.put_object, Bucket=at["Bucket"], Key=key, Body=b"") == ("InvalidURI", 400)


@pytest.mark.parametrize("key", ["a/../key", "./key", "a//key", "/key", "key/", " key ", "+%20 &?#é\n\x01"])
def test_any_other_key_is_a_key(s3: Any, at: dict[str, str], key: str) -> None:
    named = {"Bucket": at["Bucket"], "Key": f"{at['Key']}/{key}"}
    s3.put_object(**named, Body=key.encode())
    assert s3.get_object(**named)["Body"].read() == key.encode()
    assert s3.list_objects_v2(Bucket=at["Bucket"], Prefix=at["Key"])["Contents"][0]["Key"] == named["Key"]


@pytest.mark.parametrize(
    ("tagging", "code"),
    [
        ("a=b&a=c", "InvalidArgument"),
        ("=b", "InvalidArgument"),
        ("a%=b", "InvalidArgument"),
        ("a!=b", "InvalidTag"),
        ("a=" + "v" * 257, "InvalidTag"),
        ("k" * 129 + "=v", "InvalidTag"),
        ("aws:a=b", "InvalidTag"),
        ("&".join(f"{number}=" for number in range(11)), "BadRequest"),
    ],
)
def test_tags_that_s3_does_not_take_are_refused(s3: Any, at: dict[str, str], tagging: str, code: str) -> None:
    assert refusal(s3.put_object, **at, Body=b"", Tagging=tagging) == (code, 400)
    assert refusal(s3.create_multipart_upload, **at, Tagging=tagging) == (code, 400)


def test_a_body_of_more_than_five_gibibytes_is_refused_before_it_comes(cloud: LocalCloud, at: dict[str, str]) -> None:
    request = AWSRequest(
        method="PUT",
        url=f"{cloud.endpoint}/{at['Bucket']}/{at['Key']}",
        data=b"",
        headers={"x-amz-decoded-content-length": str((5 << 30) + 1)},
    )
    assert in_two_pieces(cloud.endpoint, request, lambda: None) == "HTTP/1.1 400 Bad Request"


def test_a_bucket_that_locks_what_comes_wants_a_digest(s3: Any, at: dict[str, str]) -> None:
    name = f"locked-{uuid.uuid4()}"
    where = {"LocationConstraint": HOME}
    s3.create_bucket(Bucket=name, CreateBucketConfiguration=where, ObjectLockEnabledForBucket=True)
    rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}
    locks = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    s3.put_object_lock_configuration(Bucket=name, ObjectLockConfiguration=locks)
    assert refusal(s3.put_object, Bucket=name, Key="k", Body=SMALL) == ("InvalidRequest", 400)
    part = {"Bucket": name, "Key": "k", "PartNumber": 1, "Body": SMALL}
    part["UploadId"] = s3.create_multipart_upload(Bucket=name, Key="k")["UploadId"]
    assert refusal(s3.upload_part, **part) == ("InvalidRequest", 400)
    put = s3.put_object(Bucket=name, Key="k", Body=SMALL, ChecksumCRC64NVME=crc64(SMALL))
    assert refusal(s3.delete_object, Bucket=name, Key="k", VersionId=put["VersionId"]) == ("AccessDenied", 403)


def test_a_bucket_that_keeps_versions_no_more_writes_version_null(s3: Any, at: dict[str, str]) -> None:
    name = f"objects-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": HOME})
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Suspended"})
    assert s3.put_object(Bucket=name, Key="k", Body=SMALL)["VersionId"] == "null"
