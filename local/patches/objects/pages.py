"""Pages of ListObjectsV2, ListObjectVersions and ListParts.

AWS: names an object's checksum and, where it is asked for, whether it is restored; takes as a continuation token only
what it gave; has nothing behind a page of no keys; and encodes keys of versions as it does those of objects.
Emulator: names neither, takes any token, and encodes no versions.
"""

from __future__ import annotations

import base64
import binascii
import contextvars
from datetime import UTC, datetime
from typing import Any

from local.patches.replace import override
from local.patches.upstream import s3

ATTRIBUTES = "x-amz-optional-object-attributes"
_TOKEN = "after:"  # noqa: S105 - not a secret
_ENCODED = ("Key", "Prefix", "Delimiter", "KeyMarker", "NextKeyMarker")
_encodes: contextvars.ContextVar[bool] = contextvars.ContextVar("_encodes", default=False)


def install() -> None:
    """List by these rules."""
    versions, written = s3._list_object_versions, s3._xml_body

    def listing(bucket: str, query: dict[str, Any]) -> Any:
        encoding = s3._qp(query, "encoding-type")
        if encoding not in ("", "url"):
            return s3._error("InvalidArgument", "Invalid Encoding Method specified in Request", 400)
        token = _encodes.set(encoding == "url")
        try:
            return versions(bucket, query)
        finally:
            _encodes.reset(token)

    def writing(root: Any) -> Any:
        if _encodes.get() and root.tag == "ListVersionsResult":
            for element in root.iter():
                if element.tag in _ENCODED and element.text:
                    element.text = s3._url_encode(element.text)
            s3.SubElement(root, "EncodingType").text = "url"
        return written(root)

    override(s3, _list_object_versions=listing, _xml_body=writing, _list_objects_v2=_list)


def _list(bucket: str, query: dict[str, Any]) -> Any:
    if s3._ensure_bucket(bucket) is None:
        return s3._no_such_bucket(bucket)
    names = ("prefix", "delimiter", "continuation-token", "start-after", "encoding-type")
    prefix, delimiter, token, start_after, encoding = (s3._qp(query, name) for name in names)
    most = int(s3._qp(query, "max-keys") or 1000)
    after = _after(token) if "continuation-token" in query else start_after
    if after is None:
        return s3._error("InvalidArgument", "The continuation token provided is incorrect", 400)
    if encoding not in ("", "url"):
        return s3._error("InvalidArgument", "Invalid Encoding Method specified in Request", 400)
    objects = s3._buckets[bucket]["objects"]
    found = s3._collect_list_entries(objects, prefix, delimiter, most, after) if most else ([], [], False, "")
    keys, prefixes, is_truncated, last = found
    written = s3._url_encode if encoding else str
    root = s3.Element("ListBucketResult", xmlns=s3.S3_NS)
    told = {"Name": bucket, "Prefix": written(prefix), "MaxKeys": str(most), "KeyCount": str(len(keys) + len(prefixes))}
    told |= {"Delimiter": written(delimiter)} if delimiter else {}
    told |= {"EncodingType": encoding} if encoding else {}
    told |= {"ContinuationToken": token} if token else {}
    told |= {"StartAfter": written(start_after)} if start_after else {}
    told |= {"NextContinuationToken": base64.b64encode(f"{_TOKEN}{last}".encode()).decode()} if is_truncated else {}
    for name, text in (told | {"IsTruncated": str(is_truncated).lower()}).items():
        s3.SubElement(root, name).text = text
    owner = s3._canonical_owner_id() if s3._qp(query, "fetch-owner").lower() == "true" else ""
    with_restores = "RestoreStatus" in s3._qp(query, ATTRIBUTES)
    for key in keys:
        element = s3.SubElement(root, "Contents")
        s3.SubElement(element, "Key").text = written(key)
        _describe(element, objects[key])
        if with_restores:
            _restored(element, bucket, key, objects[key])
        if owner:
            s3.SubElement(s3.SubElement(element, "Owner"), "ID").text = owner
    for one in sorted(prefixes):
        s3.SubElement(s3.SubElement(root, "CommonPrefixes"), "Prefix").text = written(one)
    return 200, {"Content-Type": "application/xml"}, s3._xml_body(root)


def _after(token: str) -> str | None:
    """Return the key that a page ended with; None for a token that is no page's."""
    try:
        told = base64.b64decode(token, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return told.removeprefix(_TOKEN) if told.startswith(_TOKEN) else None


def _describe(element: Any, record: dict[str, Any]) -> None:
    told = {"LastModified": record["last_modified"], "ETag": record["etag"], "Size": str(record["size"])}
    for algorithm in record.get("checksums") or {}:
        told |= {"ChecksumAlgorithm": algorithm, "ChecksumType": record.get("checksum_type") or "FULL_OBJECT"}
    told["StorageClass"] = record.get("storage_class") or "STANDARD"
    for name, text in told.items():
        s3.SubElement(element, name).text = text


def _restored(element: Any, bucket: str, key: str, record: dict[str, Any]) -> None:
    phase = s3._sync_restore(bucket, key, record)
    if phase is None:
        return
    status = s3.SubElement(element, "RestoreStatus")
    s3.SubElement(status, "IsRestoreInProgress").text = str(phase == "in_progress").lower()
    if phase == "restored":
        until = datetime.fromtimestamp(record["restore"]["expires_at"], UTC)
        s3.SubElement(status, "RestoreExpiryDate").text = f"{until:%Y-%m-%dT%H:%M:%S.000Z}"
