"""Rules that hold for any request to S3.

AWS: refuses bytes that are not those whose digest was signed, a bucket whose owner is not the expected one, conditions
that it does not have, a key that leads above its bucket, more than 5 GiB at once, and pages of a size that is no number
or below zero; a page has at most 1000 entries. A range that is none, or that is several, is not looked at.
Emulator: looks at none of it.
"""

from __future__ import annotations

import contextvars
import re
from typing import Any

from local.patches.objects.bodies import digest
from local.patches.objects.copies import MOST, SITE, rises
from local.patches.objects.pages import ATTRIBUTES
from local.patches.objects.tags import of_header
from local.patches.objects.uploads import MOST_PARTS
from local.patches.replace import override
from local.patches.upstream import account_id, s3

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PAGES = ("max-keys", "max-parts", "max-uploads")
_RANGE = re.compile(r"bytes=(?:(\d+)-(\d*)|-\d+)")
_MOST = 1000
_caller: contextvars.ContextVar[str] = contextvars.ContextVar("_caller", default="")


def install() -> None:
    """Ask before anything is done."""
    dispatch = s3._dispatch

    def strict(method: str, bucket: str, key: str, headers: dict[str, str], body: Any, query: dict[str, Any]) -> Any:
        refused = (
            _digest(headers, body)
            or _owners(bucket, headers)
            or _pages(query)
            or _lengths(key, headers)
            or (_parts(query, headers) if method in ("GET", "HEAD") else None)
            or _redirect(headers)
            or _payer(bucket, key, headers)
            or (_conditions(headers) or of_header(headers)[1] if method in ("PUT", "POST") else None)
        )
        if refused is not None:
            return refused
        if "range" in headers and not _is_range(headers["range"]):
            headers = {name: value for name, value in headers.items() if name != "range"}
        if ATTRIBUTES in headers:
            query[ATTRIBUTES] = [headers[ATTRIBUTES]]
        if method != "GET":
            headers.setdefault("content-type", "binary/octet-stream")
        return dispatch(method, bucket, key, headers, body, query)

    scope = s3._apply_bucket_scope

    def scoping(*words: Any, **more: Any) -> Any:
        _caller.set(account_id())  # it is that of the bucket afterwards
        return scope(*words, **more)

    override(s3, _dispatch=strict, _apply_bucket_scope=scoping)


def _digest(headers: dict[str, str], body: Any) -> Any:
    told = headers.get("x-amz-content-sha256", "")
    if not _SHA256.fullmatch(told) or "x-amz-decoded-content-length" in headers:
        return None
    if digest("sha256", body).hexdigest() == told:
        return None
    message = "The provided 'x-amz-content-sha256' header does not match what was computed."
    return s3._error("XAmzContentSHA256Mismatch", message, 400)


def _owners(bucket: str, headers: dict[str, str]) -> Any:
    source = s3.url_unquote(headers.get("x-amz-copy-source", "").lstrip("/").partition("?")[0]).partition("/")[0]
    for name, header in ((bucket, "x-amz-expected-bucket-owner"), (source, "x-amz-source-expected-bucket-owner")):
        expected, owner = headers.get(header), s3._bucket_owner_account(name) if name else None
        if expected and owner is not None and expected != owner:
            return s3._error("AccessDenied", "Access Denied", 403, f"/{name}")
    return None


def _is_range(told: str) -> bool:
    found = _RANGE.fullmatch(told)
    return bool(found and not (found[1] and found[2] and int(found[1]) > int(found[2])))


def _lengths(key: str, headers: dict[str, str]) -> Any:
    """A key has at most 1024 bytes, a body 5 GiB, and names and values of an object's metadata 2048 together."""
    if len(key.encode(errors="surrogateescape")) > 1024:
        return s3._error("KeyTooLongError", "Your key is too long", 400)
    if rises(key):
        return s3._error("InvalidURI", "Couldn't parse the specified URI.", 400)
    length = headers.get("x-amz-decoded-content-length") or headers.get("content-length", "")
    if length.isdecimal() and int(length) > MOST:
        message = "Your proposed upload exceeds the maximum allowed size"
        told = {"ProposedSize": length, "MaxSizeAllowed": str(MOST)}
        return s3._error("EntityTooLarge", message, 400, extra=told)
    prefix = "x-amz-meta-"
    size = sum(len(name) - len(prefix) + len(value) for name, value in headers.items() if name.startswith(prefix))
    if size > 2048:
        message = "Your metadata headers exceed the maximum allowed metadata size"
        return s3._error("MetadataTooLarge", message, 400)
    return None


def _parts(query: dict[str, Any], headers: dict[str, str]) -> Any:
    """A read names a range or a part, by its number."""
    number = s3._qp(query, "partNumber")
    if number and not (number.isdecimal() and 1 <= int(number) <= MOST_PARTS):
        message = f"Part number must be an integer between 1 and {MOST_PARTS}, inclusive"
        return s3._error("InvalidArgument", message, 400)
    marker = s3._qp(query, "part-number-marker")
    if marker and not (marker.isdecimal() and int(marker) < 1 << 31):
        message = "Provided part-number-marker not an integer or within integer range"
        return s3._error("InvalidArgument", message, 400)
    if "range" in headers and number:
        message = "Cannot specify both Range header and partNumber query parameter"
        return s3._error("InvalidRequest", message, 400)
    return None


def _conditions(headers: dict[str, str]) -> Any:
    """A write knows If-None-Match as `*` alone, and not together with If-Match."""
    free, match = headers.get("if-none-match"), headers.get("if-match")
    if (free is None or free == "*") and (free is None or match is None):
        return None
    message = "A header you provided implies functionality that is not implemented"
    return s3._error("NotImplemented", message, 501)


def _payer(bucket: str, key: str, headers: dict[str, str]) -> Any:
    """Whoever uses another account's bucket says that they pay, where its requesters pay."""
    if "Requester" not in str(s3._bucket_request_payment_config.get(bucket) or "") or "x-amz-request-payer" in headers:
        return None
    return (
        None if _caller.get() == account_id() else s3._error("AccessDenied", "Access Denied", 403, f"/{bucket}/{key}")
    )


def _redirect(headers: dict[str, str]) -> Any:
    """A redirect of a website leads to a key or to an address."""
    told = headers.get(SITE)
    if told is None or told.startswith(("/", "http://", "https://")):
        return None
    message = "The website redirect location must have a prefix of 'http://' or 'https://' or '/'."
    return s3._error("InvalidRedirectLocation", message, 400)


def _pages(query: dict[str, Any]) -> Any:
    for name in _PAGES:
        told = s3._qp(query, name, "")
        if not told:
            continue
        if not re.fullmatch(r"-?\d+", told):
            return s3._error("InvalidArgument", f"Provided {name} not an integer or within integer range", 400)
        if not 0 <= int(told) < 1 << 31:
            message = f"Argument {name} must be an integer between 0 and 2147483647"
            return s3._error("InvalidArgument", message, 400)
        query[name] = [str(min(int(told), _MOST))]
    return None
