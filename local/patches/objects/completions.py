"""CompleteMultipartUpload: the rules of `uploads` about what it states, and an object without a copy of its bytes.

AWS: answers a completion that comes again as it answered the first one, until it has forgotten the upload.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from local.patches.objects import conditions
from local.patches.objects.bodies import joined
from local.patches.objects.checksums import DEFAULT, SIZES, composite, full_object, given, is_well_formed
from local.patches.objects.uploads import FULL, MOST_PARTS, no_such_upload, wrong_kind
from local.patches.replace import override
from local.patches.upstream import s3

LEAST_PART = 5 << 20
_REMEMBERED = 1000
_done: OrderedDict[str, tuple[str, str, list[tuple[int, str]], Any]] = OrderedDict()
"""The last uploads that were completed: bucket, key, the parts that were stated, and the answer."""
_INVALID_PART = (
    "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified "
    "entity tag may not match the part's entity tag."
)
_MALFORMED = "The XML you provided was not well-formed or did not validate against our published schema"


class RefusedError(Exception):
    """S3 does not complete it."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


@dataclass(frozen=True)
class Stated:
    """A part as the completion states it."""

    number: int
    etag: str
    checksums: dict[str, str]


def install() -> None:
    """Complete by these rules."""
    override(s3, _complete_multipart_upload=complete)


def complete(bucket: str, key: str, body: bytes, query: dict[str, Any], headers: dict[str, str]) -> Any:
    """Make an object of an upload's parts."""
    owned = s3._ensure_bucket(bucket)
    if owned is None:
        return s3._no_such_bucket(bucket)
    upload_id = s3._qp(query, "uploadId")
    upload = s3._multipart_uploads.get(upload_id)
    if upload_id in _done:
        return _again(bucket, key, body, upload_id)
    if upload is None or (upload["bucket"], upload["key"]) != (bucket, key):
        return no_such_upload(bucket, key)
    if refused := s3._check_sse_c_part(headers, upload) or _unmet(upload, headers, owned["objects"].get(key)):
        return refused
    try:
        told = given(headers)[1] or wrong_kind(headers)
        if told is not None:
            return told
        stated = read(body)
        in_order(stated, upload)
        parts = [matched(one, upload) for one in stated]
        large_enough(parts, headers)
        sums = whole(parts, upload, headers)
    except RefusedError as error:
        return s3._error(error.code, error.message, error.status, f"/{bucket}/{key}")
    answer = _placed(upload_id, upload, [one.number for one in stated], parts, sums, headers)
    _done[upload_id] = bucket, key, [(one.number, one.etag) for one in stated], answer
    if len(_done) > _REMEMBERED:
        _done.popitem(last=False)
    return answer


def forget() -> None:
    """Know nothing of completed uploads any more, as S3 does after a while."""
    _done.clear()


def _again(bucket: str, key: str, body: bytes, upload_id: str) -> Any:
    """Answer a completion of what is completed: as the first one, if it states the same parts."""
    at, of, parts, (status, headers, said) = _done[upload_id]
    try:
        is_same = (at, of, parts) == (bucket, key, [(one.number, one.etag) for one in read(body)])
    except RefusedError as error:
        return s3._error(error.code, error.message, error.status, f"/{bucket}/{key}")
    return (status, dict(headers), said) if is_same else no_such_upload(bucket, key)


def _unmet(upload: dict[str, Any], headers: dict[str, str], existing: Any) -> Any:
    """Return S3's refusal of a condition that does not hold, or that another write came in the way of."""
    at = upload["bucket"], upload["key"]
    if upload.get("has_lost_its_key") and conditions.is_conditional(headers):
        return conditions.refusal(*at)
    return conditions.conflict(*at, headers) or s3._check_put_preconditions(headers, existing)


def read(body: bytes) -> list[Stated]:
    """Return the parts that a completion states, in its order."""
    try:
        root = s3.fromstring(body)
    except s3.ParseError:
        raise RefusedError("MalformedXML", _MALFORMED) from None
    stated = []
    for part in (one for one in root if _name(one) == "Part"):
        told = {_name(child): (child.text or "").strip() for child in part}
        number = told.get("PartNumber", "")
        if not number.removeprefix("-").isdecimal() or not told.get("ETag"):
            raise RefusedError("MalformedXML", _MALFORMED)
        if not 1 <= int(number) <= MOST_PARTS:
            raise RefusedError("InvalidArgument", f"PartNumber must be between 1 and {MOST_PARTS}")
        sums = {name: told[f"Checksum{name}"] for name in SIZES if told.get(f"Checksum{name}")}
        if len(sums) > 1:
            raise RefusedError("InvalidArgument", "Invalid Base64 or multiple checksums present in request")
        stated.append(Stated(int(number), told["ETag"].strip('"'), sums))
    if not stated:
        raise RefusedError("MalformedXML", _MALFORMED)
    return stated


def in_order(stated: list[Stated], upload: dict[str, Any]) -> None:
    """Numbers ascend; where parts have checksums, from 1 and without gaps."""
    numbers = [one.number for one in stated]
    has_sums = bool(upload["checksum_algorithm"])
    if numbers != sorted(set(numbers)) or (has_sums and numbers != list(range(1, len(numbers) + 1))):
        message = "The list of parts was not in ascending order. Parts must be ordered by part number."
        raise RefusedError("InvalidPartOrder", message)


def matched(one: Stated, upload: dict[str, Any]) -> dict[str, Any]:
    """Return the part that is stated, with its ETag and checksum."""
    part: dict[str, Any] | None = upload["parts"].get(one.number)
    if part is None or part["etag"].strip('"') != one.etag:
        raise RefusedError("InvalidPart", _INVALID_PART)
    algorithm = upload["checksum_algorithm"]
    if algorithm and upload["checksum_type"] != FULL and algorithm not in one.checksums:
        raise RefusedError(
            "InvalidRequest",
            f"The upload was created using a {algorithm.lower()} checksum. The complete request must include the "
            f"checksum for each part. It was missing for part {one.number} in the request.",
        )
    for name, value in one.checksums.items():
        if not is_well_formed(name, value):
            raise RefusedError("InvalidArgument", "Invalid Base64 or multiple checksums present in request")
        if algorithm and name != algorithm:
            raise RefusedError(
                "BadDigest", f"The {name.lower()} you specified for part {one.number} did not match what we received."
            )
        if value != part["sum"] and (algorithm or name == DEFAULT):
            raise RefusedError("InvalidPart", _INVALID_PART)
    return part


def large_enough(parts: list[dict[str, Any]], headers: dict[str, str]) -> None:
    """All parts but the last have 5 MiB, and all together the stated size."""
    if any(part["size"] < LEAST_PART for part in parts[:-1]):
        message = "Your proposed upload is smaller than the minimum allowed size"
        raise RefusedError("EntityTooSmall", message)
    told, size = headers.get("x-amz-mp-object-size"), sum(part["size"] for part in parts)
    if told is None:
        return
    if not told.isdecimal():
        is_negative = told.removeprefix("-").isdecimal()
        message = f"Value for x-amz-mp-object-size header is {'less than zero' if is_negative else 'invalid'}: '{told}'"
        raise RefusedError("InvalidRequest", message)
    if int(told) != size:
        message = f"The provided 'x-amz-mp-object-size' header value {told} does not match what was computed: {size}"
        raise RefusedError("InvalidRequest", message)


def whole(parts: list[dict[str, Any]], upload: dict[str, Any], headers: dict[str, str]) -> tuple[str, str, str]:
    """Return algorithm, kind and value of the object's checksum; the stated one has to be that."""
    algorithm, kind = upload["checksum_algorithm"] or DEFAULT, upload["checksum_type"]
    found, _ = given(headers)
    told = headers.get("x-amz-checksum-type")
    if told and told != kind and upload["checksum_algorithm"]:
        message = (
            f"The upload was created using the {kind} checksum mode. The complete request must use the same "
            "checksum mode."
        )
        raise RefusedError("InvalidRequest", message)
    sums = [part["sum"] for part in parts]
    sizes = [part["size"] for part in parts]
    value = full_object(algorithm, list(zip(sums, sizes, strict=True))) if kind == FULL else composite(algorithm, sums)
    # An upload that was begun without an algorithm is not held against one that its completion names.
    for name, stated in found.items() if upload["checksum_algorithm"] else ():
        # A composite one may be stated without the count of parts.
        if name != algorithm or stated.partition("-")[0] != value.partition("-")[0]:
            message = f"The {name} you specified did not match the calculated checksum."
            raise RefusedError("BadDigest", message)
    return algorithm, kind, value


def _placed(
    upload_id: str,
    upload: dict[str, Any],
    numbers: list[int],
    parts: list[dict[str, Any]],
    told: tuple[str, str, str],
    headers: dict[str, str],
) -> Any:
    bucket, key, objects = upload["bucket"], upload["key"], s3._buckets[upload["bucket"]]["objects"]
    algorithm, kind, value = told
    body = joined([part["body"] for part in parts])
    md5 = hashlib.md5(b"".join(part["md5"] for part in parts), usedforsecurity=False).hexdigest()
    kept = ("content_type", "content_encoding", "metadata", "preserved_headers")
    made = {name: upload.get(name) for name in kept} | {
        "body": body,
        "etag": f'"{md5}-{len(parts)}"',
        "last_modified": s3.now_iso(),
        "size": len(body),
        "storage_class": upload.get("storage_class") or "STANDARD",
        "parts": [
            {"PartNumber": number, "Size": part["size"], "checksums": part["checksums"]}
            for number, part in zip(numbers, parts, strict=True)
        ],
        "checksums": {algorithm: value},
        "checksum_type": kind,
    }
    before = objects.get(key)
    objects[key] = made
    del s3._multipart_uploads[upload_id]
    version = s3._record_object_version(bucket, key, before, made, body)
    s3._object_tags.pop((bucket, key, made.get("version_id")), None)
    if upload["tags"]:
        s3._object_tags[bucket, key, made.get("version_id")] = upload["tags"]
    event = "s3:ObjectCreated:CompleteMultipartUpload"
    s3._fire_s3_event_async(bucket, key, event, size=len(body), etag=made["etag"], version_id=version)
    root = s3.Element("CompleteMultipartUploadResult", xmlns=s3.S3_NS)
    where = f"http://{headers.get('host', 'localhost')}/{bucket}/{key}"
    words = {"Location": where, "Bucket": bucket, "Key": key, "ETag": made["etag"]}
    for name, text in (words | {f"Checksum{algorithm}": value, "ChecksumType": kind}).items():
        s3.SubElement(root, name).text = text
    answer = {"Content-Type": "application/xml", **s3._stored_sse_headers(made)}
    return 200, answer | ({"x-amz-version-id": version} if version else {}), s3._xml_body(root)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
