"""Events of objects.

AWS: an event names the version that was written or deleted, where its bucket keeps versions. Emulator: names it to
queues and functions, and not to EventBridge.
"""

from __future__ import annotations

import contextvars
import json
from typing import Any

from local.patches.replace import override
from local.patches.upstream import eventbridge, s3

_version: contextvars.ContextVar[str | None] = contextvars.ContextVar("_version", default=None)


def install() -> None:
    """Name the version."""
    fire, dispatch = s3._fire_s3_event, eventbridge._dispatch_event

    def firing(*words: Any, version_id: str | None = None, **more: Any) -> None:
        _version.set(version_id)
        fire(*words, version_id=version_id, **more)

    def dispatching(event: dict[str, Any], *more: Any) -> Any:
        version = _version.get() if event["Source"] == "aws.s3" else None
        if version:
            detail = json.loads(event["Detail"])
            detail["object"]["version-id"] = version
            event = event | {"Detail": json.dumps(detail)}
        return dispatch(event, *more)

    override(s3, _fire_s3_event=firing)
    override(eventbridge, _dispatch_event=dispatching)
