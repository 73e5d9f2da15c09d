"""What can be done about each of S3's refusals."""

import pytest

from lambdas.core.ends.bucket_refusals import is_known, remedy_of


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("NoSuchBucket: The specified bucket does not exist", "bucket"),
        ("PermanentRedirect: elsewhere", "region"),
        ("KMS.NotFoundException: no such key", "kmsKeyId"),
        ("AccessDenied: not authorized to perform: kms:Decrypt", "kmsKeyId"),
        ("AccessDenied: Access Denied", "bucket"),
        ("AccessDenied: not authorized to perform: s3:PutObject on arn:aws:s3:::kms-backups/kms.txt-403", "bucket"),
        ("AccessDenied: no use of arn:aws:kms:eu-west-1:123456789012:key/1", "kmsKeyId"),
        ("403: Forbidden", "bucket"),
        ("InvalidTag: the tag", "tags"),
        ("InvalidStorageClass: the class", "storageClass"),
    ],
)
def test_a_refusal_has_a_field_and_a_remedy(said: str, field: str) -> None:
    assert remedy_of(said).field == field
    assert is_known(said)


def test_what_nobody_knows_is_the_buckets() -> None:
    assert not is_known("InvalidRequest: anything")
    assert not is_known("InvalidRequest: request 14030 of my-kms-data")
    assert remedy_of("InvalidRequest: anything").text == "correct the bucket, or choose another one"
