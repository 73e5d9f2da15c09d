"""CopyObject, and the source that it shares with UploadPartCopy.

AWS: takes conditions on the destination; a copy is of STANDARD class unless it says otherwise, and one object as if it
were put: its ETag is the MD5 of the whole, and its checksum, of the source's algorithm or the named one, that of the
whole. Archived objects that are not restored are not copied, nor more than 5 GiB at once, nor an object onto itself
with nothing changed. A source is named by bucket and key, percent-encoded, with at most a version behind it; a version
that is a delete marker is no source.
Emulator: keeps class, ETag and checksum of the source, and reads archived objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_to_bytes

from local.patches.objects import conditions
from local.patches.objects.bodies import digest
from local.patches.objects.checksums import DEFAULT, SIZES, checksum, unsupported
from local.patches.replace import override
from local.patches.upstream import s3

MOST = 5 << 30
"""Bytes of one copy, as of one put."""
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_CHANGES = ("x-amz-storage-class", "x-amz-website-redirect-location", "x-amz-checksum-algorithm")


SITE = "x-amz-website-redirect-location"


class Source(NamedTuple):
    """What is copied; `record` is the emulator's own, of an object or a version."""

    bucket: str
    key: str
    version: str
    record: dict[str, Any]


def install() -> None:
    """Copy by these rules."""
    copy = s3._copy_object

    def copying(bucket: str, key: str, headers: dict[str, str]) -> Any:
        if s3._ensure_bucket(bucket) is None:
            return s3._no_such_bucket(bucket)
        named = headers.get("x-amz-checksum-algorithm", "").upper()
        source = source_of(headers) if named in ("", *SIZES) else unsupported()
        if not isinstance(source, Source):
            return source
        existing = s3._buckets[bucket]["objects"].get(key)
        refused = (
            unreadable(source, headers)
            or too_large(source.record["size"])
            or _unchanged(source, bucket, key, headers)
            or conditions.conflict(bucket, key, headers)
            or s3._check_put_preconditions(headers, existing)
        )
        if refused:
            return refused
        words = headers | {"x-amz-storage-class": headers.get("x-amz-storage-class", "STANDARD")}
        with _as_if_put(source, named):
            status, answer, said = copy(bucket, key, words)
        if status != 200:
            return status, answer, said
        root, made = s3.fromstring(said), s3._buckets[bucket]["objects"][key]
        for name, value in made["checksums"].items():
            s3.SubElement(root, f"Checksum{name}").text = value
        s3.SubElement(root, "ChecksumType").text = "FULL_OBJECT"
        return status, answer, s3._xml_body(root)

    override(s3, _copy_object=copying)


def source_of(headers: dict[str, str]) -> Source | Any:
    """Return what a copy names, or S3's refusal."""
    told = headers.get("x-amz-copy-source", "")
    path, _, query = told.partition("?")
    bucket, slash, key = unquote(path).lstrip("/").partition("/")
    if re.search(r"%(?![0-9A-Fa-f]{2})", path) or not _is_utf8(path):
        return _invalid("Invalid copy source encoding", told)
    if not slash or not bucket or not key:
        return _invalid("Copy Source must mention the source bucket and key: sourcebucket/sourcekey", told)
    if not _BUCKET.fullmatch(bucket) or _ADDRESS.fullmatch(bucket):
        return _invalid("Invalid copy source bucket name", told)
    if rises(key):
        return _invalid("Invalid copy source object key", told)
    if s3._ensure_bucket(bucket) is None:
        return s3._no_such_bucket(bucket)
    version = unquote(query.removeprefix("versionId=")) if query.startswith("versionId=") else ""
    if not version:
        record = s3._buckets[bucket]["objects"].get(key)
        missing = "NoSuchKey", "The specified key does not exist."
    else:
        versions = s3._object_versions.get((bucket, key), [])
        record = next((one for one in versions if one["version_id"] == version), None)
        missing = "NoSuchVersion", "The specified version does not exist."
        if record is not None and record.get("is_delete_marker"):
            message = "The source of a copy request may not specifically refer to a delete marker by version id."
            return s3._error("InvalidRequest", message, 400, f"/{bucket}/{key}")
    if record is None:
        return s3._error(*missing, 404, f"/{bucket}/{key}")
    return Source(bucket, key, version, record)


def rises(key: str) -> bool:
    """Return whether a key's `..` lead above its bucket."""
    depth = 0
    for name in key.split("/"):
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 0:
            return True
    return False


def unreadable(source: Source, headers: dict[str, str]) -> Any:
    """Return S3's refusal of a source that is archived, encrypted by another key, or not as the conditions say."""
    kind = source.record.get("storage_class") or "STANDARD"
    current = s3._buckets[source.bucket]["objects"].get(source.key)
    is_current = current is not None and source.version in ("", current.get("version_id"))
    restored = is_current and s3._sync_restore(source.bucket, source.key, current) == "restored"
    if kind in s3._ARCHIVE_STORAGE_CLASSES and not restored:
        return s3._invalid_object_state(source.bucket, source.key, kind)
    found = s3._check_sse_c_copy_source(headers, source.record)
    return found or s3._check_copy_source_preconditions(headers, source.record)


def too_large(size: int) -> Any:
    """Return S3's refusal of more bytes than one copy bears."""
    if size <= MOST:
        return None
    message = f"The specified copy source is larger than the maximum allowable size for a copy source: {MOST}"
    return s3._error("InvalidRequest", message, 400)


def _unchanged(source: Source, bucket: str, key: str, headers: dict[str, str]) -> Any:
    is_itself = (source.bucket, source.key, source.version) == (bucket, key, "")
    replaces = headers.get("x-amz-metadata-directive", "").upper() == "REPLACE"
    changes = any(name in headers for name in _CHANGES) or any("server-side-encryption" in name for name in headers)
    if not is_itself or replaces or changes:
        return None
    message = (
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's "
        "metadata, storage class, website redirect location or encryption attributes."
    )
    return s3._error("InvalidRequest", message, 400, f"/{bucket}/{key}")


@contextmanager
def _as_if_put(source: Source, named: str) -> Iterator[None]:
    """Have the source, while it is copied, the ETag and checksum of an object that came at once, and no redirect."""
    record = source.record
    kept = {name: record.get(name) for name in ("etag", "checksums", "preserved_headers")}
    record["preserved_headers"] = {
        name: told for name, told in (kept["preserved_headers"] or {}).items() if name != SITE
    }
    body = s3._read_body(source.bucket, source.key, record)
    if "-" in record["etag"]:
        record["etag"] = f'"{digest("md5", body).hexdigest()}"'
    before = next(iter(record.get("checksums") or {}), DEFAULT)
    is_whole = (record.get("checksum_type") or "FULL_OBJECT") == "FULL_OBJECT" and record.get("checksums")
    algorithm = named or before
    if algorithm != before or not is_whole:
        record["checksums"] = {algorithm: checksum(algorithm, body)}
    try:
        yield
    finally:
        record.update(kept)


def _is_utf8(path: str) -> bool:
    try:
        unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return False
    return True


def _invalid(message: str, told: str) -> Any:
    named = {"ArgumentName": "x-amz-copy-source", "ArgumentValue": told}
    return s3._error("InvalidArgument", message, 400, extra=named)
