"""Every signed request and its answer pass here.

AWS: refuses a request that its model does not allow, with one of a few codes by protocol, or that was signed minutes
ago or ahead; and answers nothing else than its model says. Emulator: takes what it can read, and answers what it likes.
Here such a request is refused before it is served; an answer passes as it is, and is noted in the state directory: it
is a defect of the emulator, and ends `with LocalCloud(…)` with an error.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from local.conformance.constraints import Violation
from local.conformance.known import is_known
from local.conformance.operations import Request, Service, service_of
from local.facts import fact

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]

log = logging.getLogger("local.conformance")

_SERVICE = re.compile(rb"Credential=[^/]+/\d{8}/[a-z0-9-]+/([a-z0-9-]+)/")
_XML = "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors></Response>"
_QUERY = (
    "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
)
_S3_CODES = {
    "ServerSideEncryption": "InvalidEncryptionAlgorithmError",
    "StorageClass": "InvalidStorageClass",
}
_S3_WORDS = {
    "MetadataDirective": "Unknown metadata directive.",
    "TaggingDirective": "Unknown tagging directive.",
}
_REST = "<Error><Code>{code}</Code><Message>{message}</Message></Error>"


class Refusal(NamedTuple):
    """An error of AWS's services in front of an operation."""

    code: str
    message: str
    status: int = 400


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
        if late := skewed(headers.get(b"x-amz-date", b"").decode(), datetime.now(UTC), service.protocol):
            await _refuse(service.protocol, late, send)
            return
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
        await _refuse(service.protocol, _invalid(service.protocol, wrong), send)
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
    """An answer of the emulator, kept while it goes out; of a stream, only its head."""

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


def skewed(signed_at: str, now: datetime, protocol: str) -> Refusal | None:
    """Return the refusal of a request whose `x-amz-date` is too far from `now`; None of any other, or without a date.

    Some codes are those of AWS's general errors: how each service calls it is not in its model.
    """
    if not signed_at:
        return None
    at = datetime.strptime(signed_at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    is_s3 = protocol == "rest-xml"
    most = fact("s3-clock-skew-seconds") if is_s3 else fact("clock-skew-seconds")
    off = (at - now).total_seconds()
    if abs(off) <= most:
        return None
    if is_s3:
        return Refusal(
            "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.", 403
        )
    bound = f"{now:%Y%m%dT%H%M%SZ} {'-' if off < 0 else '+'} {most // 60} min."
    message = (
        f"Signature expired: {signed_at} is now earlier than {bound}"
        if off < 0
        else f"Signature not yet current: {signed_at} is still later than {bound}"
    )
    if protocol == "ec2":
        return Refusal("RequestExpired", f"Request has expired. {message}")
    if protocol == "query":
        return Refusal("SignatureDoesNotMatch", message, 403)
    return Refusal("InvalidSignatureException", message, 403 if protocol == "rest-json" else 400)


def _invalid(protocol: str, wrong: list[Violation]) -> Refusal:
    """Return the refusal of what a model does not allow."""
    listed = "; ".join(
        f"Value at '{violation.path}' failed to satisfy constraint: {violation.wrong}" for violation in wrong
    )
    missing = any(violation.missing for violation in wrong)
    code = {
        "ec2": "MissingParameter" if missing else "InvalidParameterValue",
        "rest-xml": _of_s3(wrong[0]),
        "query": "ValidationError",
    }.get(protocol, "ValidationException")
    if protocol == "rest-xml" and wrong[0].path in _S3_WORDS:
        return Refusal(code, _S3_WORDS[wrong[0].path])
    return Refusal(code, f"{len(wrong)} validation error{'s' * (len(wrong) > 1)} detected: {listed}")


def _of_s3(violation: Violation) -> str:
    """Return S3's code: a document that its schema does not allow, or a header with a value of its own code."""
    if "." in violation.path.rstrip("[]"):
        return "MalformedXML"
    return _S3_CODES.get(violation.path, "InvalidRequest" if violation.missing else "InvalidArgument")


async def _refuse(protocol: str, refusal: Refusal, send: Any) -> None:
    """Answer as AWS does, in the protocol's form."""
    code, message, status = refusal
    kind, headers = "text/xml", [(b"date", f"{datetime.now(UTC):%a, %d %b %Y %H:%M:%S} GMT".encode())]
    if protocol in ("json", "rest-json"):
        kind, body = "application/x-amz-json-1.1", json.dumps({"__type": code, "message": message})
        headers.append((b"x-amzn-errortype", code.encode()))
    else:
        form = {"ec2": _XML, "rest-xml": _REST}.get(protocol, _QUERY)
        body = form.format(code=code, message=escape(message))
    start = {"type": "http.response.start", "status": status, "headers": [(b"content-type", kind.encode()), *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body.encode()})
