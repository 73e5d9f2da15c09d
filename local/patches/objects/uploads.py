"""Uploads in parts.

AWS: keeps the kind of checksum that an upload was begun with, and refuses parts and completions of another one; parts
but the last have 5 MiB; with checksums their numbers have no gaps; what a completion states, whether of a part or of
the whole, has to be right; and a completed upload is no more. Tags that an upload was begun with are its object's,
and a listing of uploads names the session that began each.
Emulator: takes parts of any size and number, forgets the tags, gives a copied part no checksum, and knows composite
checksums alone.
"""

from __future__ import annotations

from typing import Any

from local.patches.objects.bodies import digest, joined
from local.patches.objects.checksums import DEFAULT, SIZES, checksum, given, unsupported
from local.patches.objects.copies import Source, source_of, too_large, unreadable
from local.patches.objects.crc import CRCS
from local.patches.objects.tags import of_header
from local.patches.objects.writes import lacks_digest
from local.patches.replace import override
from local.patches.upstream import iam_evaluator, s3

FULL, COMPOSITE = "FULL_OBJECT", "COMPOSITE"
MOST_PARTS = 10_000
_GONE = (
    "The specified multipart upload does not exist. The upload ID may be invalid, or the upload may have been aborted "
    "or completed."
)


def _initiator() -> str | None:
    """Who begins an upload, where that is no account as a whole: S3 names users and sessions by their ARN."""
    arn = str(iam_evaluator.caller_arn() or "")
    return arn if ":assumed-role/" in arn or ":user/" in arn else None


def install() -> None:
    """Be as strict as S3 from the beginning of an upload to its last part."""
    begin, put, copy = s3._create_multipart_upload, s3._upload_part, s3._upload_part_copy

    def beginning(bucket: str, key: str, headers: dict[str, str]) -> Any:
        algorithm, kind, refused = _kind(headers)
        if refused:
            return refused
        tags, _ = of_header(headers)
        status, answer, body = begin(bucket, key, headers)
        if status == 200:
            upload = s3._multipart_uploads[s3.fromstring(body).find(f"{{{s3.S3_NS}}}UploadId").text]
            upload |= {"checksum_type": kind, "tags": tags, "initiator": _initiator()}
            if algorithm:
                answer["x-amz-checksum-type"] = kind
        return status, answer, body

    def putting(bucket: str, key: str, body: Any, query: dict[str, Any], headers: dict[str, str]) -> Any:
        body = joined([body]) if isinstance(body, bytes) else body  # so that its sums are computed once
        answer = lacks_digest(bucket, headers) or _misplaced(query, headers)
        answer = answer or put(bucket, key, body, query, headers)
        if answer[0] == 200:
            _complete_the_part(query, body)
        return answer

    def copying(bucket: str, key: str, query: dict[str, Any], headers: dict[str, str]) -> Any:
        upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"))
        if s3._ensure_bucket(bucket) is None:
            return s3._no_such_bucket(bucket)
        if refused := _misplaced(query, headers):
            return refused
        source = source_of(headers)
        if not isinstance(source, Source):
            return source
        if upload is None or (upload["bucket"], upload["key"]) != (bucket, key):
            return no_such_upload(bucket, key)
        is_whole = "x-amz-copy-source-range" not in headers
        if refused := unreadable(source, headers) or (too_large(source.record["size"]) if is_whole else None):
            return refused
        answer = copy(bucket, key, query, headers)
        if answer[0] != 200:
            return answer
        part = upload["parts"][int(s3._qp(query, "partNumber"))]
        _complete_the_part(query, part["body"])
        root = s3.fromstring(answer[2])
        for algorithm, value in part["checksums"].items():
            s3.SubElement(root, f"Checksum{algorithm}").text = value
        return answer[0], answer[1], s3._xml_body(root)

    error = s3._error

    def naming(code: str, message: str, *words: Any, **more: Any) -> Any:
        return error(code, _GONE if code == "NoSuchUpload" else message, *words, **more)

    override(s3, _error=naming)
    override(s3, _create_multipart_upload=beginning, _upload_part=putting, _upload_part_copy=copying)
    override(s3, _resolve_part_checksums=_of_part, _resolve_multipart_checksum_algorithm=_named)
    delete = s3._delete_bucket

    def deleting(bucket: str) -> Any:
        answer = delete(bucket)
        if answer[0] == 204:
            for upload_id in [one for one, upload in s3._multipart_uploads.items() if upload["bucket"] == bucket]:
                del s3._multipart_uploads[upload_id]
        return answer

    override(s3, _delete_bucket=deleting)


def _named(headers: dict[str, str]) -> Any:
    return headers.get("x-amz-checksum-algorithm", "").upper() or None, None


def no_such_upload(bucket: str, key: str) -> Any:
    """Return S3's answer about an upload that is not there, or no more."""
    return s3._error("NoSuchUpload", _GONE, 404, f"/{bucket}/{key}")


def wrong_kind(headers: dict[str, str]) -> Any:
    """Return S3's refusal of a kind of checksum that it does not have."""
    if headers.get("x-amz-checksum-type", "").upper() in ("", FULL, COMPOSITE):
        return None
    return s3._error("InvalidRequest", "Value for x-amz-checksum-type header is invalid.", 400)


def _kind(headers: dict[str, str]) -> tuple[str, str, Any]:
    """Return algorithm and kind of checksum that an upload is begun with, or S3's refusal."""
    algorithm, kind = (
        headers.get("x-amz-checksum-algorithm", "").upper(),
        headers.get("x-amz-checksum-type", "").upper(),
    )
    message = ""
    if algorithm and algorithm not in SIZES:
        return "", "", unsupported()
    if refused := wrong_kind(headers):
        return "", "", refused
    if kind and not algorithm:
        message = "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
    elif (kind, algorithm) == (COMPOSITE, DEFAULT) or (kind == FULL and algorithm not in CRCS):
        message = f"The {kind} checksum type cannot be used with the {algorithm.lower()} checksum algorithm."
    if message:
        return "", "", s3._error("InvalidRequest", message, 400)
    return algorithm, kind or (FULL if algorithm in ("", DEFAULT) else COMPOSITE), None


def _misplaced(query: dict[str, Any], headers: dict[str, str]) -> Any:
    """Return S3's refusal of a part's number, or of a checksum of another algorithm than the upload's."""
    number = s3._qp(query, "partNumber")
    if not (number.isdecimal() and 1 <= int(number) <= MOST_PARTS):
        message = f"Part number must be an integer between 1 and {MOST_PARTS}, inclusive"
        return s3._error("InvalidArgument", message, 400)
    upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"))
    if upload is None or "x-amz-copy-source" in headers:
        return None
    found, refused = given(headers)
    expected, actual = upload["checksum_algorithm"], next(iter(found), None)
    may_lack = actual is None and upload["checksum_type"] == FULL
    # SDKs send one with each part of an upload that names none, and S3 takes it.
    if refused or actual == expected or may_lack or not expected:
        return refused
    message = (
        f"Checksum Type mismatch occurred, expected checksum Type: {expected.lower()}, actual checksum Type: "
        f"{(actual or 'null').lower()}"
    )
    return s3._error("InvalidRequest", message, 400)


def _of_part(body: Any, headers: dict[str, str], upload: dict[str, Any]) -> Any:
    """Return the checksum that is told of a part: that of the upload's algorithm, or the one that came with it."""
    algorithm = upload["checksum_algorithm"]
    found, refused = given(headers)
    if refused:
        return {}, refused
    for name, value in found.items():
        if value != checksum(name, body):
            message = f"The {name} you specified did not match the calculated checksum."
            return {}, s3._error("BadDigest", message, 400)
    return ({algorithm: checksum(algorithm, body)} if algorithm else found), None


def _complete_the_part(query: dict[str, Any], body: Any) -> None:
    """Note what the object's checksum is made of, and the digest that its ETag is made of."""
    upload = s3._multipart_uploads[s3._qp(query, "uploadId")]
    part = upload["parts"][int(s3._qp(query, "partNumber"))]
    algorithm = upload["checksum_algorithm"]
    part["sum"] = checksum(algorithm or DEFAULT, body)
    part["md5"] = digest("md5", body).digest()
    part["checksums"] = {algorithm: part["sum"]} if algorithm else {}
