"""Configured faults of S3's calls on objects.

AWS: any call may be throttled or fail; a connection may end in the middle of an answer; a client that gave up may have
been heard all the same, so that its call comes twice, and S3 may not remember the first one any more; and
CompleteMultipartUpload may say 200 and then name an error, or conflict with a write of the same key.
Emulator: none of it happens.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from local.config import Fault
from local.conformance.operations import Request, service_of
from local.instances.faults import Faults
from local.patches.faults.latency import SCOPE, Asgi

ANY = "s3:*"
CUT, LATE, TWICE, ERROR_IN_BODY = "Cut", "Late", "Twice", "ErrorInBody"
_STATUS = {
    "SlowDown": 503,
    "ServiceUnavailable": 503,
    "InternalError": 500,
    "ConditionalRequestConflict": 409,
    "OperationAborted": 409,
    "PreconditionFailed": 412,
    "AccessDenied": 403,
    "ExpiredToken": 400,
    "RequestTimeout": 400,
    "NoSuchUpload": 404,
}
_ERROR = "<Error><Code>{code}</Code><Message>Spoiled by a script of the local cloud.</Message></Error>"


class CutError(Exception):
    """Ends the connection in the middle of an answer."""


def with_object_faults(app: Asgi, faults: Faults, forget: Callable[[], None]) -> Asgi:
    """`app`, whose calls of S3 are spoiled as the scripts say; `forget`: S3 does not remember what it has completed."""
    service = service_of("s3")

    async def spoiled(scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        found = SCOPE.search(headers.get(b"authorization", b""))
        if found is None or found.group(2) != b"s3" or service is None:
            await app(scope, receive, send)
            return
        path = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0].decode()
        words = {name.decode().lower(): value.decode("latin-1") for name, value in headers.items()}
        operation = service.operation(Request("s3", scope["method"], path, scope["query_string"].decode(), words))
        name = operation.name if operation else ""
        key = str(scope["path"]).removeprefix("/").partition("/")[2]
        if not key:  # a listing is of its prefix
            key = dict(parse_qsl(scope["query_string"].decode())).get("prefix", "")
        region = found.group(1).decode()
        fault = faults.hit(name, region, key=key) or faults.hit(ANY, region, key=key)
        if fault is None:
            await app(scope, receive, send)
        else:
            await _spoil(fault, app, scope, receive, send, forget)

    return spoiled


async def _spoil(
    fault: Fault, app: Asgi, scope: dict[str, Any], receive: Any, send: Any, forget: Callable[[], None]
) -> None:
    if fault.code == LATE:
        await asyncio.sleep(fault.late_seconds)
        await app(scope, receive, send)
    elif fault.code == CUT:
        await app(scope, receive, _Cut(send).send)
    elif fault.code == TWICE:
        messages = await _heard(receive)
        await app(scope, _said(messages), _unheard)
        forget()
        await app(scope, _said(messages), send)
    else:
        await _heard(receive)
        is_late = fault.code == ERROR_IN_BODY
        code = "InternalError" if is_late else fault.code
        status = 200 if is_late else _STATUS.get(code, 400)
        start = {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/xml")]}
        await send(start)
        body = ("" if scope["method"] == "HEAD" else _ERROR.format(code=escape(code))).encode()
        await send({"type": "http.response.body", "body": body})


class _Cut:
    """Passes a half of an answer."""

    def __init__(self, send: Any) -> None:
        self._send, self._left = send, 0

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            length = {name.lower(): value for name, value in message["headers"]}.get(b"content-length", b"0")
            self._left = int(length) // 2 if re.fullmatch(rb"\d+", length) else 0
            # Of an answer without a body a byte is promised, which never comes.
            others = [pair for pair in message["headers"] if pair[0].lower() != b"content-length"]
            await self._send(message | ({"headers": [*others, (b"content-length", b"1")]} if length == b"0" else {}))
            return
        body = message.get("body", b"")[: self._left]
        self._left -= len(body)
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        if not self._left:
            raise CutError


async def _heard(receive: Any) -> list[dict[str, Any]]:
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())
    return messages


def _said(messages: list[dict[str, Any]]) -> Any:
    left = list(messages)

    async def receive() -> dict[str, Any]:
        return left.pop(0) if left else {"type": "http.disconnect"}

    return receive


async def _unheard(message: dict[str, Any]) -> None:
    """Take an answer that nobody waits for."""
