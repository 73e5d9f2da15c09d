"""Counts of requests that AWS would charge for, which `GET /_local/calls` returns.

Objects and events are counted at the emulator's door, functions and items of tables where they are run and kept.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]

PATH = "/_local/calls"
_SERVICE = re.compile(rb"Credential=[^/]+/\d{8}/[a-z0-9-]+/([a-z0-9-]+)/")
_FREE_OBJECT_METHODS = {"DELETE"}


class Calls:
    """Counts by what is charged; other threads may add at the same time."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, what: str, count: float = 1) -> None:
        """`tableWrites`, `tableReads`, `events`, `objectPuts`, `objectGets`, `lambdaRequests`, `lambdaGBSeconds`."""
        with self._lock:
            self._counts[what] += count  # type: ignore[assignment] # of seconds too

    def told(self) -> dict[str, float]:
        """Return all counts."""
        with self._lock:
            return dict(self._counts)


def counted(app: Asgi, calls: Calls) -> Asgi:
    """`app`, with every signed request counted before it is served."""

    async def counting(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        if scope["path"] == PATH:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps(calls.told()).encode()})
            return
        headers = dict(scope["headers"])
        signed = _SERVICE.search(headers.get(b"authorization", b""))
        service = signed.group(1).decode() if signed else ""
        if service == "s3":
            _count_object(scope["method"], calls)
        if service != "events":
            await app(scope, receive, send)
            return
        action = headers.get(b"x-amz-target", b"").decode().partition(".")[2]
        body = b""

        async def overheard() -> Any:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            if message["type"] == "http.request" and not message.get("more_body"):
                _count(action, json.loads(body or b"{}"), calls)
            return message

        await app(scope, overheard, send)

    return counting


def _count_object(method: str, calls: Calls) -> None:
    if method not in _FREE_OBJECT_METHODS:
        calls.add("objectGets" if method in ("GET", "HEAD") else "objectPuts")


def _count(action: str, request: dict[str, Any], calls: Calls) -> None:
    if action == "PutEvents":
        calls.add("events", len(request["Entries"]))
