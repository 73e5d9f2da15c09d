"""S3's errors in words that say what to correct."""

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.copy_refusals import problem, refuse_destination, refuse_source
from lambdas.core.copies.outcome import NotCopied


def error(code: str, message: str = "because.") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "CopyObject")


def test_a_source_has_no_key_in_the_request() -> None:
    told = problem("source", "s3://b/", "listed", "AccessDenied: kms:Decrypt")
    assert told.startswith("$.source.bucket: 's3://b/' cannot be listed: AccessDenied: kms:Decrypt; let the role")
    assert problem("destination", "s3://b/", "written", "KMS.X: y").startswith("$.destination.kmsKeyId: 's3://b/'")


def test_an_object_that_is_left_out_says_what_to_do() -> None:
    with pytest.raises(NotCopied) as refused:
        refuse_destination(error("AccessDenied"))
    assert refused.value.reason == "destination-refused"
    assert refused.value.message.startswith("AccessDenied: because; look at the bucket's policy")
    with pytest.raises(NotCopied, match="source-unreadable: InvalidRequest: because"):
        refuse_source(error("InvalidRequest"))
