"""What is left in a bucket, over S3's own answers as its client reads them."""

import pytest

from lambdas.adapters.bucket_leftovers import S3Leftovers
from lambdas.adapters.leftover_ports import LeftUpload
from lambdas.core.errors import MissingPermission, Throttled
from lambdas.core.seats.credentials import BucketPlace
from tests.lambdas.adapters.scripted_s3 import Script, refusal

OURS = "arn:aws:sts::000000000000:assumed-role/cpt-buckets/receiver-nightly"
ONE = LeftUpload("b/ä", "id-1")


def upload(key: str, upload_id: str, by: str | None) -> str:
    who = "" if by is None else f"<Initiator><ID>{by}</ID></Initiator>"
    return f"<Upload><Key>{key}</Key><UploadId>{upload_id}</UploadId>{who}</Upload>"


@pytest.fixture
def left(script: Script) -> S3Leftovers:
    return S3Leftovers(script.renew().destination, BucketPlace("into", "b/", "eu-west-1"))


def test_uploads_of_our_sessions_alone_are_found_on_every_page(script: Script, left: S3Leftovers) -> None:
    more = "<IsTruncated>true</IsTruncated><NextKeyMarker>b/y</NextKeyMarker><NextUploadIdMarker>2</NextUploadIdMarker>"
    page = upload("b/x", "1", OURS) + upload("b/x", "2", OURS + "-2") + upload("b/y", "3", None)
    script.answer(200, f"<ListMultipartUploadsResult>{more}{page}</ListMultipartUploadsResult>")
    script.answer(200, f"<ListMultipartUploadsResult>{upload('b/z', '4', OURS)}</ListMultipartUploadsResult>")
    assert left.uploads(frozenset({OURS})) == [LeftUpload("b/x", "1"), LeftUpload("b/z", "4")]
    assert script.query(0)["prefix"] == ["b/"]
    assert (script.query(1)["key-marker"], script.query(1)["upload-id-marker"]) == (["b/y"], ["2"])


def test_an_uploads_parts_are_added_up_and_one_that_is_gone_has_none(script: Script, left: S3Leftovers) -> None:
    script.answer(200, "<ListPartsResult><Part><Size>5</Size></Part><Part><Size>7</Size></Part></ListPartsResult>")
    script.answer(404, refusal("NoSuchUpload"))
    assert (left.size(ONE), left.size(ONE)) == (12, 0)


def test_an_upload_that_is_gone_counts_as_aborted(script: Script, left: S3Leftovers) -> None:
    script.answer(204)
    script.answer(404, refusal("NoSuchUpload"))
    left.abort(ONE)
    left.abort(ONE)
    assert script.query()["uploadId"] == ["id-1"]


def test_notes_are_listed_below_the_prefix_and_removed(script: Script, left: S3Leftovers) -> None:
    listed = "<Contents><Key>b/.cpt-partial-n/r0/1-0</Key></Contents>"
    script.answer(200, f"<ListBucketResult>{listed}</ListBucketResult>")
    script.answer(200, "<DeleteResult/>")
    assert left.remove(".cpt-partial-n/") == 1
    assert script.query(0)["prefix"] == ["b/.cpt-partial-n/"]


def test_in_a_bucket_that_is_gone_nothing_is_left(script: Script, left: S3Leftovers) -> None:
    for _ in range(2):
        script.answer(404, refusal("NoSuchBucket"))
    assert (left.uploads(frozenset({OURS})), left.remove(".cpt-partial-n/")) == ([], 0)


def test_what_s3_leaves_of_a_removal_is_named(script: Script, left: S3Leftovers) -> None:
    script.answer(200, "<ListBucketResult><Contents><Key>b/.cpt-partial-n/x</Key></Contents></ListBucketResult>")
    why = "<Error><Key>x</Key><Code>AccessDenied</Code><Message>a lock</Message></Error>"
    script.answer(200, f"<DeleteResult>{why}</DeleteResult>")
    with pytest.raises(MissingPermission, match="AccessDenied: a lock"):
        left.remove(".cpt-partial-n/")


def test_a_refusal_is_told_from_what_may_pass(script: Script, left: S3Leftovers) -> None:
    script.answer(403, refusal("AccessDenied"))
    with pytest.raises(MissingPermission, match="s3://into/b/ cannot be removed"):
        left.uploads(frozenset())
    for _ in range(3):
        script.answer(503, refusal("SlowDown"))
    with pytest.raises(Throttled):
        left.abort(ONE)
