"""What S3 asks the policies beside the call's own action.

AWS: an object's ARN has its key as it is. Tags, an ACL or a lock that come with a write have actions of their own, and
a copy takes the tags of its source along; If-Match lets its caller see what is there, and needs s3:GetObject. Whoever
may not list a key is not told that it is missing: AccessDenied instead of NoSuchKey, with the key as s3:prefix.
DeleteObjects asks for each key, and names those that are refused in its answer. How many tags an object has is told to
who may read them.
Emulator: takes empty names out of a key, asks for the action alone, and refuses or tells all.
"""

from __future__ import annotations

from typing import Any

from local.patches.iam.object_keys import arn, place
from local.patches.objects.copies import Source, source_of
from local.patches.replace import override
from local.patches.upstream import iam_actions, s3

_HEADERS = {
    "x-amz-tagging": "s3:PutObjectTagging",
    "x-amz-acl": "s3:PutObjectAcl",
    "x-amz-object-lock-mode": "s3:PutObjectRetention",
    "x-amz-object-lock-legal-hold": "s3:PutObjectLegalHold",
}


def install() -> None:
    """Ask for these too."""
    action, more = iam_actions._s3_action, iam_actions.s3_additional_checks

    def acting(method: str, path: str, query: Any) -> Any:
        bucket, key = place(path)
        return action(method, f"/{bucket}/{'key' if key else ''}", query)

    def asking(method: str, path: str, headers: dict[str, str], body: bytes, query: Any) -> list[tuple[str, str]]:
        return [*more(method, path, headers, body, query), *questions(method, path, headers, query)]

    override(iam_actions, _s3_action=acting, s3_additional_checks=asking)


def questions(method: str, path: str, headers: dict[str, str], query: Any) -> list[tuple[str, str]]:
    """Return the further actions and ARNs of a call on an object."""
    bucket, key = place(path)
    if not key:
        return []
    own = arn(bucket, key)
    if "if-match" in headers and method in ("PUT", "POST", "DELETE") and headers["if-match"].strip() != "*":
        return [("s3:GetObject", own), *_of_write(method, own, headers, query)]
    return _of_write(method, own, headers, query)


def _of_write(method: str, own: str, headers: dict[str, str], query: Any) -> list[tuple[str, str]]:
    is_put = method == "PUT" and not set(query) - {"x-id"}
    if not is_put and not (method == "POST" and "uploads" in query):
        return []
    found = [(action, own) for name, action in _HEADERS.items() if headers.get(name)]
    takes_tags = headers.get("x-amz-tagging-directive", "COPY").upper() == "COPY"
    source = source_of(headers) if is_put and "x-amz-copy-source" in headers and takes_tags else None
    if isinstance(source, Source) and s3._object_tags.get((source.bucket, source.key, source.record.get("version_id"))):
        reads = "s3:GetObjectVersionTagging" if source.version else "s3:GetObjectTagging"
        found += [(reads, arn(source.bucket, source.key)), ("s3:PutObjectTagging", own)]
    return found
