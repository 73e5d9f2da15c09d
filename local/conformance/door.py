"""Every signed request and its answer pass here.

AWS: refuses a request that its model does not allow, with one of a few codes by protocol; and answers nothing else than
its model says. Emulator: takes what it can read, and answers what it likes. Here such a request is refused before it is
served; an answer passes as it is, and is noted in the state directory: it is a defect of the emulator, and ends
`with LocalCloud(…)` with an error.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from local.conformance.constraints import Violation
from local.conformance.known import is_known
from local.conformance.operations import Request, Service, service_of

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]

log = logging.getLogger("local.conformance")

_SERVICE = re.compile(rb"Credential=[^/]+/\d{8}/[a-z0-9-]+/([a-z0-9-]+)/")
_XML = "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors></Response>"
_QUERY = (
    "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
)
_REST = "<Error><Code>{code}</Code><Message>{message}</Message></Error>"


class Notes:
    """Answers that AWS would not give, each kind once; a file that is there only if there are any."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: set[tuple[str, str]] = set()

    def add(self, operation: str, violation: Violation) -> None:
        """Note it, unless it is known."""
        place = operation, violation.path
        if place not in self._seen and not is_known(*place):
            self._seen.add(place)
            log.error("%s answered what AWS never answers: %s", operation, violation)
            with self._file.open("a") as target:
                target.write(f"{operation}\t{violation}\n")


def conforming(app: Asgi, notes: Notes) -> Asgi:
    """`app`, which sees only requests that AWS would accept, and whose answers are held against AWS's models."""

    async def judged(scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        signed = _SERVICE.search(headers.get(b"authorization", b""))
        service = service_of(signed.group(1).decode()) if signed else None
        if signed is None or service is None:
            await app(scope, receive, send)
            return
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        request = Request(
            signed.group(1).decode(),
            scope["method"],
            raw_path.partition(b"?")[0].decode(),
            scope["query_string"].decode(),
            {name.decode().lower(): value.decode("latin-1") for name, value in headers.items()},
        )
        await _judge(app, service, request, notes, scope, receive, send)

    return judged


async def _judge(
    app: Asgi, service: Service, request: Request, notes: Notes, scope: dict[str, Any], receive: Any, send: Any
) -> None:
    operation = service.operation(request) if service.protocol.startswith("rest-") else None
    if operation is None or not operation.has_streaming_input:
        body, receive = await _read(receive)
        request = Request(request.service, request.method, request.path, request.query, request.headers, body)
    operation = operation or service.operation(request)
    if operation is None:
        await app(scope, receive, send)
        return
    name = f"{request.service}.{operation.name}"
    if wrong := [one for one in service.asked(operation, request) if not is_known(name, one.path)]:
        await _refuse(service.protocol, wrong, send)
        return
    answer = _Answer(send, keeps=not operation.has_streaming_output)
    await app(scope, receive, answer.send)
    if 200 <= answer.status < 300:
        for violation in service.answered(operation, answer.status, answer.headers, answer.body):
            notes.add(name, violation)


async def _read(receive: Any) -> tuple[bytes, Callable[[], Awaitable[MutableMapping[str, Any]]]]:
    """The body, and `receive` as if nothing of it had been read."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return body, again


class _Answer:
    """What the emulator answers, kept while it goes out; of a stream, only its head."""

    def __init__(self, send: Any, *, keeps: bool) -> None:
        self._send, self._keeps = send, keeps
        self.status, self.body = 0, b""
        self.headers: dict[str, str] = {}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
        elif self._keeps:
            self.body += message.get("body", b"")
        await self._send(message)


async def _refuse(protocol: str, wrong: list[Violation], send: Any) -> None:
    """As AWS says it: in the protocol's form, with the code that its services use."""
    listed = "; ".join(
        f"Value at '{violation.path}' failed to satisfy constraint: {violation.wrong}" for violation in wrong
    )
    message = f"{len(wrong)} validation error{'s' * (len(wrong) > 1)} detected: {listed}"
    kind, headers = "text/xml", []
    if protocol in ("json", "rest-json"):
        kind, body = "application/x-amz-json-1.1", json.dumps({"__type": "ValidationException", "message": message})
        headers = [(b"x-amzn-errortype", b"ValidationException")]
    elif protocol == "ec2":
        code = "MissingParameter" if any(violation.missing for violation in wrong) else "InvalidParameterValue"
        body = _XML.format(code=code, message=escape(message))
    else:
        form, code = (_REST, "InvalidRequest") if protocol == "rest-xml" else (_QUERY, "ValidationError")
        body = form.format(code=code, message=escape(message))
    start = {"type": "http.response.start", "status": 400, "headers": [(b"content-type", kind.encode()), *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body.encode()})
