"""Conditional writes that meet other writes, as S3's user guide tells of them under "conditional writes".

A request is under way while its head has come and its body has not: the other write happens in between.
"""

from typing import Any

import pytest
from botocore.awsrequest import AWSRequest

from local.cloud import LocalCloud
from tests.local.objects import LEAST, in_two_pieces, refusal, upload

PART = "<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
CONFLICT = "HTTP/1.1 409 Conflict"


def write(cloud: LocalCloud, at: dict[str, str], method: str = "PUT", **words: Any) -> AWSRequest:
    return AWSRequest(method=method, url=f"{cloud.endpoint}/{at['Bucket']}/{at['Key']}", **words)


def test_a_put_that_meets_another_write_conflicts_where_it_has_a_condition(
    cloud: LocalCloud, s3: Any, at: dict[str, str]
) -> None:
    wants_it_free = write(cloud, at, data=b"late", headers={"If-None-Match": "*"})
    meets = in_two_pieces(cloud.endpoint, wants_it_free, lambda: s3.put_object(**at, Body=b"early"))
    assert (meets, s3.get_object(**at)["Body"].read()) == (CONFLICT, b"early")
    plain = write(cloud, at, data=b"late")
    meets = in_two_pieces(cloud.endpoint, plain, lambda: s3.put_object(**at, Body=b"early"))
    assert (meets, s3.get_object(**at)["Body"].read()) == ("HTTP/1.1 200 OK", b"late")


def test_a_put_whose_key_is_deleted_meanwhile_conflicts(cloud: LocalCloud, s3: Any, at: dict[str, str]) -> None:
    etag = s3.put_object(**at, Body=b"first")["ETag"]
    replaces = write(cloud, at, data=b"second", headers={"If-Match": etag})
    assert in_two_pieces(cloud.endpoint, replaces, lambda: s3.delete_object(**at)) == CONFLICT
    assert refusal(s3.get_object, **at) == ("NoSuchKey", 404)


def test_a_completion_that_meets_another_write_conflicts(cloud: LocalCloud, s3: Any, at: dict[str, str]) -> None:
    words = upload(s3, at, {1: b"x"})
    part = PART.format(etag=words["MultipartUpload"]["Parts"][0]["ETag"])
    body = f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>".encode()
    named = at | {"Key": f"{at['Key']}?uploadId={words['UploadId']}"}
    completes = write(cloud, named, "POST", data=body, headers={"If-None-Match": "*"})
    assert in_two_pieces(cloud.endpoint, completes, lambda: s3.put_object(**at, Body=b"early")) == CONFLICT
    assert s3.get_object(**at)["Body"].read() == b"early"


def test_an_upload_whose_key_was_deleted_since_is_begun_anew(s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=b"first")
    words = upload(s3, at, {1: b"second"})
    s3.delete_object(**at)
    for _ in range(2):
        refused = refusal(s3.complete_multipart_upload, **words, IfNoneMatch="*")
        assert refused == ("ConditionalRequestConflict", 409)
    s3.complete_multipart_upload(**upload(s3, at, {1: b"second"}), IfNoneMatch="*")


def test_of_two_uploads_that_want_a_key_free_the_first_one_gets_it(s3: Any, at: dict[str, str]) -> None:
    first, second = (upload(s3, at, {1: b"x" * LEAST, 2: last}) for last in (b"1", b"2"))
    done = s3.complete_multipart_upload(**first, IfNoneMatch="*")
    assert refusal(s3.complete_multipart_upload, **second, IfNoneMatch="*") == ("PreconditionFailed", 412)
    assert s3.head_object(**at)["ETag"] == done["ETag"]


@pytest.mark.parametrize("condition", [{"IfMatch": '"0"'}, {"IfMatch": "*"}])
def test_what_is_to_be_replaced_and_is_not_there_is_not_found(
    s3: Any, at: dict[str, str], condition: dict[str, str]
) -> None:
    assert refusal(s3.put_object, **at, Body=b"", **condition) == ("NoSuchKey", 404)
    assert refusal(s3.complete_multipart_upload, **upload(s3, at, {1: b"x"}), **condition) == ("NoSuchKey", 404)


def test_a_copy_has_conditions_on_its_destination(s3: Any, at: dict[str, str]) -> None:
    source = {"Bucket": at["Bucket"], "Key": f"{at['Key']}-source"}
    s3.put_object(**source, Body=b"new")
    etag = s3.put_object(**at, Body=b"old")["ETag"]
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"0"'}):
        assert refusal(s3.copy_object, **at, CopySource=source, **condition) == ("PreconditionFailed", 412)
    assert s3.get_object(**at)["Body"].read() == b"old"
    s3.copy_object(**at, CopySource=source, IfMatch=etag)
    assert s3.get_object(**at)["Body"].read() == b"new"
