"""Copies over S3's own answers, as its client reads them: what is sent, and what each refusal is taken for."""

from collections.abc import Callable
from typing import cast

import pytest
from botocore.exceptions import EndpointConnectionError

from lambdas.adapters.bucket_copies import S3Buckets
from lambdas.adapters.copy_ports import Condition, Sent, Source
from lambdas.core.copies.listed import Listed
from lambdas.core.copies.outcome import NotCopied, Taken, UploadGone
from lambdas.core.copies.parts import Part
from lambdas.core.errors import Throttled
from tests.lambdas.adapters.scripted_s3 import Script, refusal

KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd"
ONE = Listed("k ä?", 20, '"etag"', 100.0)
SOURCE = Source(ONE, "v1", {"CRC64NVME": "AAAAAAAAAAA="}, {"ContentType": "text/x", "StorageClass": "STANDARD_IA"})
COPIED = (
    "<CopyObjectResult><ETag>&quot;c&quot;</ETag><ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME></CopyObjectResult>"
)
PART = "<CopyPartResult><ETag>&quot;p&quot;</ETag><ChecksumCRC64NVME>BBBBBBBBBBA=</ChecksumCRC64NVME></CopyPartResult>"
COMPLETED = (
    "<CompleteMultipartUploadResult><ETag>&quot;m-2&quot;</ETag><ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME>"
    "<ChecksumType>FULL_OBJECT</ChecksumType></CompleteMultipartUploadResult>"
)


def test_a_copy_names_version_etag_and_both_owners(buckets: S3Buckets, script: Script) -> None:
    script.answer(200, COPIED)
    made = buckets.copy(SOURCE, Condition())
    assert (made.etag, made.size, made.checksums) == ('"c"', 20, {"CRC64NVME": "AAAAAAAAAAA="})
    told = script.headers()
    assert told["x-amz-copy-source"] == "from/a/k%20%C3%A4%3F?versionId=v1"
    assert told["x-amz-copy-source-if-match"] == '"etag"'
    assert told["x-amz-expected-bucket-owner"] == "222222222222"
    assert told["x-amz-source-expected-bucket-owner"] == "111111111111"
    assert told["x-amz-checksum-algorithm"] == "CRC64NVME"
    assert told["x-amz-storage-class"] == "STANDARD_IA"
    assert {"if-match", "if-none-match"}.isdisjoint(told)


@pytest.mark.parametrize(
    ("condition", "header"),
    [(Condition(nothing=True), ("if-none-match", "*")), (Condition(etag='"there"'), ("if-match", '"there"'))],
)
def test_what_must_be_there_is_a_condition_of_the_write(
    buckets: S3Buckets, script: Script, condition: Condition, header: tuple[str, str]
) -> None:
    script.answer(200, COPIED)
    buckets.copy(SOURCE, condition)
    assert script.headers()[header[0]] == header[1]
    script.answer(200, COMPLETED)
    buckets.complete(SOURCE, "u", [Sent(1, '"p"', 20, "x")], condition)
    assert script.headers()[header[0]] == header[1]


def test_a_part_names_what_it_is_of_and_a_completion_the_size_and_checksum_of_the_whole(
    buckets: S3Buckets, script: Script
) -> None:
    script.answer(200, PART)
    sent = buckets.copy_part(SOURCE, "u", Part(2, 10, 19))
    assert sent == Sent(2, '"p"', 10, "BBBBBBBBBBA=")
    told = script.headers()
    assert told["x-amz-copy-source-range"] == "bytes=10-19"
    assert told["x-amz-copy-source-if-match"] == '"etag"'
    assert "versionId=v1" in told["x-amz-copy-source"]
    assert script.query() == {"partNumber": ["2"], "uploadId": ["u"]}
    script.answer(200, COMPLETED)
    made = buckets.complete(SOURCE, "u", [Sent(1, '"o"', 10, "x"), sent], Condition())
    assert made.checksums == {"CRC64NVME": "AAAAAAAAAAA="}
    told = script.headers()
    assert told["x-amz-mp-object-size"] == "20"
    assert told["x-amz-checksum-type"] == "FULL_OBJECT"
    assert told["x-amz-checksum-crc64nvme"] == "AAAAAAAAAAA="
    assert b"<PartNumber>1</PartNumber>" in cast(bytes, script.sent[-1].body)


def test_an_upload_is_begun_with_what_the_object_has(buckets: S3Buckets, script: Script) -> None:
    script.answer(200, "<Tagging><TagSet><Tag><Key>a b</Key><Value>c&amp;d</Value></Tag></TagSet></Tagging>")
    script.answer(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
    assert buckets.begin(SOURCE) == "u"
    told = script.headers()
    assert script.query(0) == {"tagging": [""], "versionId": ["v1"]}
    assert (told["x-amz-tagging"], told["content-type"]) == ("a+b=c%26d", "text/x")
    assert (told["x-amz-checksum-algorithm"], told["x-amz-checksum-type"]) == ("CRC64NVME", "FULL_OBJECT")


Act = Callable[[S3Buckets], object]
ACTS: dict[str, tuple[Act, str]] = {
    "copy": (lambda buckets: buckets.copy(SOURCE, Condition()), COPIED),
    "part": (lambda buckets: buckets.copy_part(SOURCE, "u", Part(1, 0, 19)), PART),
    "complete": (lambda buckets: buckets.complete(SOURCE, "u", [Sent(1, '"p"', 20)], Condition()), COMPLETED),
}


@pytest.mark.parametrize("kind", ACTS)
@pytest.mark.parametrize("status", [200, 500, 503])
def test_an_error_is_tried_again_also_inside_of_an_answer_that_says_200(
    buckets: S3Buckets, script: Script, kind: str, status: int
) -> None:
    act, answer = ACTS[kind]
    script.answer(status, refusal("InternalError" if status != 503 else "SlowDown"))
    script.answer(200, answer)
    act(buckets)
    assert len(script.sent) == 2


@pytest.mark.parametrize("kind", ACTS)
@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (503, "SlowDown", Throttled),
        (200, "InternalError", Throttled),
        (412, "PreconditionFailed", Taken),
        (409, "ConditionalRequestConflict", Taken),
        (404, "NoSuchUpload", UploadGone),
        (400, "InvalidPart", UploadGone),
        (404, "NoSuchKey", NotCopied),
        (403, "InvalidObjectState", NotCopied),
        (403, "AccessDenied", NotCopied),
        (400, "InvalidRequest", NotCopied),
    ],
)
def test_each_refusal_has_its_name(
    buckets: S3Buckets, script: Script, kind: str, status: int, code: str, error: type[Exception]
) -> None:
    for _ in range(20):
        script.answer(status, refusal(code))
    with pytest.raises(error):
        ACTS[kind][0](buckets)


def test_a_conflict_is_tried_again_but_for_a_completion(buckets: S3Buckets, script: Script) -> None:
    script.answer(409, refusal("ConditionalRequestConflict"))
    script.answer(200, COPIED)
    assert buckets.copy(SOURCE, Condition(nothing=True)).etag == '"c"'
    script.answer(409, refusal("ConditionalRequestConflict"))
    with pytest.raises(Taken):
        buckets.complete(SOURCE, "u", [Sent(1, '"p"', 20)], Condition(nothing=True))
    assert script.answers == []


@pytest.mark.parametrize("kind", ACTS)
def test_keys_that_expire_are_had_anew_once(buckets: S3Buckets, script: Script, kind: str) -> None:
    act, answer = ACTS[kind]
    script.answer(400, refusal("ExpiredToken"))
    script.answer(200, answer)
    act(buckets)
    assert script.sessions == 2
    assert "Credential=key-2/" in script.headers()["authorization"]


def test_an_object_is_looked_at_as_it_was_listed(buckets: S3Buckets, script: Script) -> None:
    script.answer(
        200, "", ETag='"etag"', x_amz_version_id="v9", x_amz_checksum_crc64nvme="AAAAAAAAAAA=", Content_Length="20"
    )
    found = buckets.look(ONE)
    assert (found.version, found.checksums) == ("v9", {"CRC64NVME": "AAAAAAAAAAA="})
    told = script.headers()
    assert (told["if-match"], told["x-amz-checksum-mode"]) == ('"etag"', "ENABLED")
    assert told["x-amz-expected-bucket-owner"] == "111111111111"


def test_an_object_of_either_side_is_found_with_its_checksums_or_is_not_there(
    buckets: S3Buckets, script: Script
) -> None:
    for find in (buckets.find, buckets.find_there):
        script.answer(
            200,
            "",
            ETag='"etag"',
            Last_Modified="Sat, 28 Nov 2026 10:00:00 GMT",
            x_amz_checksum_crc64nvme="AAAAAAAAAAA=",
            Content_Length="20",
        )
        found = find("x")
        assert found is not None
        assert (found.listed.key, found.listed.etag, found.listed.size) == ("x", '"etag"', 20)
        assert found.checksums == {"CRC64NVME": "AAAAAAAAAAA="}
        assert "if-match" not in script.headers()
        script.answer(404)
        assert find("x") is None
        script.answer(403)
        with pytest.raises(NotCopied, match="source-unreadable"):
            find("x")


@pytest.mark.parametrize(
    ("status", "reason"),
    [(412, "source-changed"), (404, "source-changed"), (405, "source-changed"), (403, "source-unreadable")],
)
def test_what_is_not_as_it_was_listed_is_named(buckets: S3Buckets, script: Script, status: int, reason: str) -> None:
    script.answer(status)
    with pytest.raises(NotCopied) as caught:
        buckets.look(ONE)
    assert caught.value.reason == reason


def test_a_listing_goes_on_behind_a_key_page_by_page(buckets: S3Buckets, script: Script) -> None:
    def page(key: str, more: str = "") -> str:
        what = f"<Key>a/{key}</Key><Size>1</Size><ETag>&quot;e&quot;</ETag>"
        one = f"<Contents>{what}<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        told = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{more}</NextContinuationToken>" if more else ""
        return f"<ListBucketResult>{one}{told}</ListBucketResult>"

    script.answer(200, page("x", "token"))
    script.answer(200, page("y"))
    assert [one.key for one in buckets.source("w")] == ["x", "y"]
    assert (script.query(0)["start-after"], script.query(0)["prefix"]) == (["a/w"], ["a/"])
    assert script.query(1)["continuation-token"] == ["token"]


def test_what_cannot_be_written_is_found_by_an_upload_that_leaves_nothing(buckets: S3Buckets, script: Script) -> None:
    empty = "<ListBucketResult/>"
    script.answer(200, empty)
    script.answer(200, empty)
    script.answer(403, refusal("AccessDenied"))
    (problem,) = buckets.problems(writes=True)
    assert problem.startswith("$.destination.bucket: 's3://into/b/' cannot be written: AccessDenied: because; look at")
    script.answer(200, empty)
    script.answer(200, empty)
    script.answer(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
    script.answer(204)
    assert buckets.problems(writes=True) == []
    assert (script.sent[-1].method, script.query()) == ("DELETE", {"uploadId": ["u"]})


def test_an_upload_that_is_gone_is_aborted_without_a_word(buckets: S3Buckets, script: Script) -> None:
    script.answer(404, refusal("NoSuchUpload"))
    buckets.abort("k", "u")
    assert buckets.requests() == {"abort": 1}


def test_a_connection_that_never_comes_is_tried_again_by_the_state_machine(buckets: S3Buckets, script: Script) -> None:
    def broken(**_: object) -> None:
        raise EndpointConnectionError(endpoint_url="https://s3")

    for clients in {id(client): client for client in buckets._session.held}.values():
        clients.meta.events.register_first("before-send.s3", broken)
    with pytest.raises(Throttled, match="S3 does not answer"):
        buckets.look(ONE)
    with pytest.raises(Throttled):
        list(buckets.source(None))


def test_a_listing_that_s3_fails_on_is_tried_again_by_the_state_machine(buckets: S3Buckets, script: Script) -> None:
    for _ in range(3):
        script.answer(500, refusal("InternalError"))
    with pytest.raises(Throttled):
        list(buckets.there(None))


def test_metadata_that_no_client_sends_are_named(buckets: S3Buckets, script: Script) -> None:
    script.answer(200, "<Tagging><TagSet/></Tagging>")
    with pytest.raises(NotCopied, match="metadata cannot be sent"):
        buckets.begin(Source(ONE, "v1", {}, {"Metadata": {"who": "ä"}}))
