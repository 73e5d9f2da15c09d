"""Conditions of writes, and writes that meet.

AWS: PutObject, CompleteMultipartUpload and CopyObject take If-Match and If-None-Match. Of conditional writes that run
side by side the first one to end succeeds. A write that finds that its key was written or deleted since it began may
be told so (409 ConditionalRequestConflict): PutObject and CopyObject are then sent again, while an upload whose key was
deleted since it was begun stays refused, and has to be begun anew with all its parts.
Emulator: CopyObject has no conditions, and nothing conflicts.
"""

from __future__ import annotations

import contextvars
import itertools
from collections import OrderedDict
from typing import Any

from local.patches.replace import override
from local.patches.upstream import account_id, s3

_KEPT = 10_000
"""Keys whose last change is remembered, far more than change while one request is under way."""
_ticks = itertools.count(1)
_arrived: contextvars.ContextVar[int] = contextvars.ContextVar("_arrived", default=0)
_changes: OrderedDict[tuple[str, str, str], int] = OrderedDict()


def install() -> None:
    """Note what changes."""
    fire = s3._fire_s3_event_async

    def firing(bucket: str, key: str, event: str, *words: Any, **more: Any) -> Any:
        if event.startswith(("s3:ObjectCreated:", "s3:ObjectRemoved:")):
            _note(bucket, key, is_gone=event.startswith("s3:ObjectRemoved:"))
        return fire(bucket, key, event, *words, **more)

    override(s3, _fire_s3_event_async=firing)


def arriving(app: Any) -> Any:
    """`app`, whose requests know when they began: what changes from then on meets them."""

    async def arrived(scope: dict[str, Any], receive: Any, send: Any) -> None:
        _arrived.set(next(_ticks))
        await app(scope, receive, send)

    return arrived


def conflict(bucket: str, key: str, headers: dict[str, str]) -> Any:
    """Return S3's refusal of a conditional write whose key has changed since the request arrived."""
    changed = _changes.get((account_id(), bucket, key), 0)
    return refusal(bucket, key) if is_conditional(headers) and 0 < _arrived.get() < changed else None


def refusal(bucket: str, key: str) -> Any:
    """Return S3's answer to a conditional write that met another one."""
    message = "The conditional request cannot succeed due to a conflicting operation against this resource."
    return s3._error("ConditionalRequestConflict", message, 409, f"/{bucket}/{key}")


def is_conditional(headers: dict[str, str]) -> bool:
    """Return whether a write has a condition on what is there."""
    return "if-match" in headers or "if-none-match" in headers


def _note(bucket: str, key: str, *, is_gone: bool) -> None:
    place = account_id(), bucket, key
    _changes[place] = next(_ticks)
    _changes.move_to_end(place)
    if len(_changes) > _KEPT:
        _changes.popitem(last=False)
    for upload in s3._multipart_uploads.values() if is_gone else ():
        if (upload["bucket"], upload["key"]) == (bucket, key):
            upload["has_lost_its_key"] = True
