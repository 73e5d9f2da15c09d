"""Copies as a request wants them kept, and what S3 refuses of them in words for people."""

from typing import Any

import pytest

from lambdas.adapters.bucket_copies import S3Buckets
from lambdas.adapters.copy_ports import Condition, Source
from lambdas.core.copies.listed import Listed
from lambdas.core.errors import SurveyProblem
from tests.lambdas.adapters.scripted_s3 import Script, opened, refusal

KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd"
SOURCE = Source(Listed("k", 20, '"etag"', 100.0), "v1", {"CRC64NVME": "AAAAAAAAAAA="}, {"ContentType": "text/x"})
COPIED = "<CopyObjectResult><ETag>&quot;c&quot;</ETag></CopyObjectResult>"
WRITTEN: dict[str, Any] = {"storageClass": "DEEP_ARCHIVE", "tags": {"a b": "c&d"}, "kmsKeyId": KEY}


def test_copies_are_kept_as_the_request_says(script: Script) -> None:
    script.answer(200, COPIED)
    opened(script, WRITTEN).copy(SOURCE, Condition())
    told = script.headers()
    assert (told["x-amz-storage-class"], told["x-amz-tagging-directive"]) == ("DEEP_ARCHIVE", "REPLACE")
    assert told["x-amz-tagging"] == "a+b=c%26d"
    assert told["x-amz-server-side-encryption"] == "aws:kms"
    assert told["x-amz-server-side-encryption-aws-kms-key-id"] == KEY


@pytest.mark.parametrize("act", ["begin", "problems"])
def test_uploads_and_their_probe_are_begun_so_and_the_sources_tags_are_not_asked_for(script: Script, act: str) -> None:
    buckets = opened(script, WRITTEN)
    if act == "problems":
        script.answer(200, "<ListBucketResult></ListBucketResult>")
        script.answer(200, "<ListBucketResult></ListBucketResult>")
    script.answer(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
    if act == "problems":
        script.answer(204, "")
        assert buckets.problems(writes=True) == []
    else:
        assert buckets.begin(SOURCE) == "u"
    told = script.headers(2 if act == "problems" else 0)
    assert (told["x-amz-storage-class"], told["x-amz-tagging"]) == ("DEEP_ARCHIVE", "a+b=c%26d")
    assert told["x-amz-server-side-encryption-aws-kms-key-id"] == KEY


@pytest.mark.parametrize(
    ("code", "status", "field", "remedy"),
    [
        ("NoSuchBucket", 404, "bucket", "correct its name, or make it"),
        ("AccessDenied", 403, "bucket", "expectedBucketOwner says whose it must be"),
        ("KMS.NotFoundException", 400, "kmsKeyId", "name a key that is there, in the bucket's region"),
        ("KMS.DisabledException", 400, "kmsKeyId", "enable the key, or choose another one"),
        ("InvalidStorageClass", 400, "storageClass", "choose a class that the bucket's region has"),
        ("InvalidTag", 400, "tags", "correct the tags"),
    ],
)
def test_what_s3_refuses_of_the_destination_is_told_with_its_field_and_what_to_do(
    buckets: S3Buckets, script: Script, code: str, status: int, field: str, remedy: str
) -> None:
    script.answer(200, "<ListBucketResult></ListBucketResult>")
    script.answer(200, "<ListBucketResult></ListBucketResult>")
    script.answer(status, refusal(code))
    (problem,) = buckets.problems(writes=True)
    assert problem.startswith(f"$.destination.{field}: 's3://into/b/' cannot be written: {code}: ")
    assert problem.endswith(remedy)


def test_a_bucket_of_another_region_than_the_requests_is_named(buckets: S3Buckets, script: Script) -> None:
    script.answer(200, "<ListBucketResult></ListBucketResult>", x_amz_bucket_region="us-east-1")
    script.answer(200, "<ListBucketResult></ListBucketResult>", x_amz_bucket_region="eu-west-1")
    assert buckets.problems(writes=False) == [
        "$.source.region: 's3://from/a/' cannot be used so: it is in another region, us-east-1; correct the region"
    ]


def test_a_listing_that_is_refused_later_ends_the_transfer_in_words(buckets: S3Buckets, script: Script) -> None:
    script.answer(404, refusal("NoSuchBucket"))
    with pytest.raises(SurveyProblem, match=r"\$\.source\.bucket: 's3://from/a/' cannot be listed: NoSuchBucket"):
        list(buckets.source(None))


def test_a_listing_tells_what_has_to_be_restored(buckets: S3Buckets, script: Script) -> None:
    restored = "<RestoreStatus><RestoreExpiryDate>2026-12-01T00:00:00Z</RestoreExpiryDate></RestoreStatus>"
    kinds = (("GLACIER", ""), ("DEEP_ARCHIVE", restored), ("GLACIER_IR", ""))
    of = "<LastModified>2026-01-01T00:00:00Z</LastModified><ETag>e</ETag><Size>1</Size>"
    objects = (
        f"<Contents><Key>a/{kind}</Key>{of}<StorageClass>{kind}</StorageClass>{more}</Contents>" for kind, more in kinds
    )
    script.answer(200, f"<ListBucketResult>{''.join(objects)}</ListBucketResult>")
    assert [one.archived for one in buckets.source(None)] == [True, False, False]
    assert script.headers()["x-amz-optional-object-attributes"] == "RestoreStatus"
