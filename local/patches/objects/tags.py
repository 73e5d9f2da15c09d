"""Tags of objects.

AWS: takes at most ten, no key twice, of letters, digits, spaces and `+ - = . _ : / @`, 128 characters for a key and 256
for a value; a header has them encoded as a query. Emulator: takes any.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote_plus

from local.patches.replace import override
from local.patches.upstream import s3

MOST = 10
_TEXT = re.compile(r"[\w\s+\-=.:/@]*")
_ENCODING = (
    "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name "
    "duplicates."
)


def install() -> None:
    """Take tags by these rules."""
    put = s3._put_object_tagging

    def putting(bucket: str, key: str, body: bytes, query: Any = None) -> Any:
        return _of_document(body) or put(bucket, key, body, query)

    override(s3, _put_object_tagging=putting)


def of_header(headers: dict[str, str]) -> tuple[dict[str, str], Any]:
    """Return the tags that a write's header has, and S3's refusal of them."""
    tags: dict[str, str] = {}
    for pair in headers.get("x-amz-tagging", "").split("&"):
        name, _, value = pair.partition("=")
        if pair and (not name or re.search(r"%(?![0-9A-Fa-f]{2})", pair) or unquote_plus(name) in tags):
            return {}, s3._error("InvalidArgument", _ENCODING, 400, extra={"ArgumentName": "x-amz-tagging"})
        if pair:
            tags[unquote_plus(name)] = unquote_plus(value)
    return tags, refused(list(tags.items()))


def refused(tags: list[tuple[str, str]]) -> Any:
    """Return S3's refusal of tags."""
    if len(tags) > MOST:
        return s3._error("BadRequest", f"Object tags cannot be greater than {MOST}", 400)
    if len(dict(tags)) < len(tags):
        return s3._error("InvalidTag", "Cannot provide multiple Tags with the same key", 400)
    for key, value in tags:
        if not 1 <= len(key) <= 128 or not _TEXT.fullmatch(key):
            return s3._error("InvalidTag", "The TagKey you have provided is invalid", 400)
        if key.startswith("aws:"):
            return s3._error("InvalidTag", "System tags cannot be added/updated by requester", 400)
        if len(value) > 256 or not _TEXT.fullmatch(value):
            return s3._error("InvalidTag", "The TagValue you have provided is invalid", 400)
    return None


def _of_document(body: bytes) -> Any:
    try:
        root = s3.fromstring(body)
    except s3.ParseError:
        return None  # the emulator says it
    return refused(
        [(one.findtext("{*}Key") or "", one.findtext("{*}Value") or "") for one in root.findall(".//{*}Tag")]
    )
