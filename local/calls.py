"""What was asked of the emulator that AWS would charge for: counted at its door, told by `GET /_local/calls`."""

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
_READS = {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}
_WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}
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
        """All of them."""
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
        if service not in ("dynamodb", "events"):
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
    """One unit for each item, as for items of up to 1 KB written and 4 KB read; two in a transaction."""
    if action == "PutEvents":
        calls.add("events", len(request["Entries"]))
    elif action in _READS | _WRITES:
        each = 2 if action.startswith("Transact") else 1
        calls.add("tableReads" if action in _READS else "tableWrites", each * _items(request))


def _items(request: dict[str, Any]) -> int:
    if "TransactItems" in request:
        return len(request["TransactItems"])
    tables: dict[str, Any] = request.get("RequestItems", {})
    return sum(len(table.get("Keys", ()) if isinstance(table, dict) else table) for table in tables.values()) or 1
