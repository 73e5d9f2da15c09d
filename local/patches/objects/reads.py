"""Ranges, and the kind of an object's checksum.

AWS: answers a range of an old version as of the current one, and says by GetObjectAttributes of which kind a checksum
is, of old versions too; HeadObject takes ranges and numbers of parts as GetObject does.
Emulator: answers the whole version, says that of any upload it is a composite one, and has heads of whole objects.
"""

from __future__ import annotations

import re
from typing import Any

from local.patches.replace import override
from local.patches.upstream import s3

_ATTRIBUTES = {"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}


def install() -> None:
    """Cut the range from the version; correct the kind."""
    get, attributes = s3._get_object, s3._get_object_attributes

    head = s3._head_object

    def heading(bucket: str, key: str, headers: Any = None, query: Any = None) -> Any:
        headers = _asked(bucket, key, headers or {})
        status, answer, body = head(bucket, key, headers, query)
        asked, number = headers.get("range", ""), s3._qp(query or {}, "partNumber")
        if status == 200:
            s3._apply_response_overrides(answer, query or {})
        if status != 200 or not (asked or number):
            return status, answer, body
        size = int(answer["Content-Length"])
        if not size and not asked:
            return status, answer, body
        found = s3._parse_range(asked, size) if asked else _part(s3._buckets[bucket]["objects"].get(key), number, size)
        if found is None:
            return 416, {"Content-Range": f"bytes */{size}"}, b""
        parts = (s3._buckets[bucket]["objects"].get(key) or {}).get("parts")
        if number and parts:
            answer["x-amz-mp-parts-count"] = str(len(parts))
        start, end = found
        return 206, _cut(answer, start, end, size), b""

    def getting(bucket: str, key: str, headers: dict[str, str], query: Any = None) -> Any:
        headers = _asked(bucket, key, headers)
        status, answer, body = get(bucket, key, headers, query)
        asked, number = headers.get("range", ""), s3._qp(query or {}, "partNumber")
        if status == 206 and number:
            # The checksum is that of the whole.
            return status, {name: told for name, told in answer.items() if not _is_checksum(name)}, body
        if status == 200 and number not in ("", "1"):
            return s3._error(
                "InvalidPartNumber", "The requested partnumber is not satisfiable", 416, f"/{bucket}/{key}"
            )
        if status == 200 and number == "1" and len(body):
            asked = f"bytes=0-{len(body) - 1}"  # an object that came at once is its only part
        elif status != 200 or not asked or not s3._qp(query or {}, "versionId"):
            return status, answer, body
        found = s3._parse_range(asked, len(body))
        if found is None:
            about = {"Content-Type": "application/xml", "Content-Range": f"bytes */{len(body)}"}
            return 416, about, s3._xml_body(s3._range_error_xml(bucket, key))
        start, end = found
        return 206, _cut(answer, start, end, len(body)), body[start : end + 1]

    def describing(bucket: str, key: str, headers: dict[str, str], query: Any) -> Any:
        if refused := _attributes(bucket, headers):
            return refused
        status, answer, body = attributes(bucket, key, headers, query)
        if status != 200 or b"<ChecksumType>" not in body:
            return status, answer, body
        version = s3._qp(query, "versionId")
        versions = {one["version_id"]: one for one in s3._object_versions.get((bucket, key), [])}
        found = versions[version] if version else s3._buckets[bucket]["objects"][key]
        kind = found.get("checksum_type") or "FULL_OBJECT"
        corrected = body.replace(b">COMPOSITE</ChecksumType>", f">{kind}</ChecksumType>".encode())
        return status, answer, corrected

    entry, record = s3._version_entry_from_record, s3._object_record_from_version

    def noting(made: dict[str, Any], version_id: str, data: Any) -> Any:
        return entry(made, version_id, data) | {"checksum_type": made.get("checksum_type")}

    def restoring(version: dict[str, Any]) -> Any:
        return record(version) | {name: version.get(name) for name in ("checksum_type", "parts")}

    override(s3, _version_entry_from_record=noting, _object_record_from_version=restoring)
    override(s3, _head_object=heading, _get_object=getting, _get_object_attributes=describing)


def _asked(bucket: str, key: str, headers: dict[str, str]) -> dict[str, str]:
    """Return headers without a range where that is the last bytes of an object that is empty: they are all of it."""
    record = (s3._buckets.get(bucket) or {"objects": {}})["objects"].get(key)
    is_end = re.fullmatch(r"bytes=-0*[1-9]\d*", headers.get("range", ""))
    if not is_end or record is None or record["size"]:
        return headers
    return {name: told for name, told in headers.items() if name != "range"}


def _attributes(bucket: str, headers: dict[str, str]) -> Any:
    """Return S3's refusal of what a look at attributes asks for."""
    if s3._ensure_bucket(bucket) is None:
        return s3._no_such_bucket(bucket)
    asked = [name.strip() for name in headers.get("x-amz-object-attributes", "").split(",")]
    if asked == [""]:
        message = (
            "The x-amz-object-attributes header specifying the attributes to be retrieved is either missing or empty"
        )
        return s3._error("InvalidRequest", message, 400)
    if set(asked) - _ATTRIBUTES:
        return s3._error("InvalidArgument", "Invalid attribute name specified.", 400)
    return None


def _cut(answer: dict[str, str], start: int, end: int, size: int) -> dict[str, str]:
    """Return the headers of a range; a checksum is that of the whole."""
    kept = {name: value for name, value in answer.items() if not _is_checksum(name)}
    return kept | {"Content-Length": str(end - start + 1), "Content-Range": f"bytes {start}-{end}/{size}"}


def _is_checksum(header: str) -> bool:
    return header.lower().startswith("x-amz-checksum-")


def _part(record: Any, number: str, size: int) -> tuple[int, int] | None:
    """Return where a part begins and ends; an object that came at once is its only part."""
    start = 0
    for part in (record or {}).get("parts") or [{"PartNumber": 1, "Size": size}]:
        if str(part["PartNumber"]) == number:
            return start, start + part["Size"] - 1
        start += part["Size"]
    return None
