"""Contents of objects, on disk.

AWS: keeps what it is sent, and sends it again as a stream.
Emulator: holds each body in memory two or three times, joins the parts of an upload into another copy, and slices one
more off for a range. Here a large body goes into an unlinked
file as it arrives, an object is a list of stretches of such files, and an answer is sent a piece at a time.
"""

from __future__ import annotations

import asyncio
import bisect
import hashlib
import mmap
import re
import tempfile
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any

from local.patches.replace import override
from local.patches.upstream import app, iam_evaluator, s3

PIECE = 1 << 20
"""Bytes that are looked at or sent at once; a body up to this size stays in memory."""
_SIGNED_FOR_S3 = re.compile(r"Credential=[^/]+/\d{8}/[a-z0-9-]+/s3/")


class Body:
    """Bytes that lie in one or several files. What is sliced off it is a Body too, unless it is small."""

    def __init__(self, stretches: list[Any]) -> None:
        self._stretches = [memoryview(one) for one in stretches if len(one)]
        self._starts = [0, *accumulate(map(len, self._stretches))]
        self.digests: dict[str, Any] = {}
        self.checksums: dict[str, str] = {}

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, wanted: slice) -> Body | bytes:
        start, stop, _ = wanted.indices(len(self))
        found = []
        first = bisect.bisect_right(self._starts, start) - 1
        for stretch, (begin, end) in zip(self._stretches[first:], pairwise(self._starts[first:]), strict=True):
            if begin >= stop:
                break
            found.append(stretch[max(start - begin, 0) : min(stop, end) - begin])
        return Body(found) if stop - start > PIECE else b"".join(found)

    def __bytes__(self) -> bytes:
        return b"".join(self._stretches)

    def pieces(self) -> Iterator[memoryview]:
        """Its bytes in order."""
        for stretch in self._stretches:
            for start in range(0, len(stretch), PIECE):
                yield stretch[start : start + PIECE]


def pieces(body: Body | bytes) -> Iterator[bytes | memoryview]:
    """Return the bytes of any body, in order."""
    return body.pieces() if isinstance(body, Body) else iter([body])


def joined(bodies: list[Body | bytes]) -> Body:
    """Return one body of several, without a copy."""
    return Body([stretch for body in bodies for stretch in (body._stretches if isinstance(body, Body) else [body])])


def digest(name: str, body: Body | bytes) -> Any:
    """Return what hashlib makes of a body."""
    if isinstance(body, Body) and name in body.digests:
        return body.digests[name]
    made = hashlib.new(name, usedforsecurity=False)
    for piece in pieces(body):
        made.update(piece)
    if isinstance(body, Body):
        body.digests[name] = made
    return made


def install() -> None:
    """Take large bodies to disk, and send them from there."""
    read, send, find, check = (
        app._read_request_body,
        app._send_response,
        s3._get_object_data,
        s3._validate_content_md5,
    )

    async def reading(receive: Any, method: str, headers: dict[str, str]) -> Any:
        return await _spooled(receive, headers) if _is_large(method, headers) else await read(receive, method, headers)

    async def sending(to: Any, status: int, headers: dict[str, Any], body: Any, *, head: bool = False) -> None:
        if not isinstance(body, Body):
            await send(to, status, headers, body, head=head)
            return
        start = {"type": "http.response.start", "status": status, "headers": app._asgi_header_list(headers)}
        await to(start)
        for piece in body.pieces():
            await to({"type": "http.response.body", "body": bytes(piece), "more_body": True})
        await to({"type": "http.response.body", "body": b"", "more_body": False})

    def finding(*words: Any, **more: Any) -> Any:
        found = find(*words, **more)
        return bytes(found) if isinstance(found, Body) else found

    def checking(headers: dict[str, str], body: Any) -> Any:
        if headers.get("content-md5") == "":
            return s3._error("InvalidDigest", "The Content-MD5 you specified is not valid.", 400)
        if not isinstance(body, Body) or not headers.get("content-md5"):
            return check(headers, body)
        # What differs is refused, with the words for bytes that have no such digest either.
        told = s3.base64.b64encode(digest("md5", body).digest()).decode()
        return None if told == headers["content-md5"] else check(headers, b"")

    override(app, _read_request_body=reading, _send_response=sending)
    override(s3, _get_object_data=finding, _validate_content_md5=checking)
    override(s3, md5_hash=lambda body: digest("md5", body).hexdigest())


def _is_large(method: str, headers: dict[str, str]) -> bool:
    """Return whether this is a large body for S3 that comes as it is, and not in signed chunks."""
    length, sha256 = headers.get("content-length", ""), headers.get("x-amz-content-sha256", "")
    return (
        method == "PUT"
        and length.isdecimal()
        and int(length) > PIECE
        and not sha256.startswith("STREAMING-")
        and "aws-chunked" not in headers.get("content-encoding", "")
        and _SIGNED_FOR_S3.search(headers.get("authorization", "")) is not None
    )


async def _spooled(receive: Any, headers: dict[str, str]) -> Body:
    """Take a body to disk."""
    told, length = headers.get("x-amz-content-sha256", ""), int(headers["content-length"])
    sha256 = hashlib.sha256() if re.fullmatch(r"[0-9a-f]{64}", told) else None
    with tempfile.TemporaryFile() as file:
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise app._RequestBodyDisconnected
            piece = message.get("body", b"")
            file.write(piece)
            if sha256 is not None:
                sha256.update(piece)
            more = message.get("more_body", False)
        size = file.tell()
        file.flush()
        body = Body([mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)] if size else [])
    if size != length:
        refused = app._IncompleteRequestBody("Content-Length does not match request body")
        refused.body = b""
        raise refused
    # The signature is of the digest that was told; `requests` holds the bytes against it.
    iam_evaluator.pin_signed_body(b"")
    if sha256 is not None:
        body.digests["sha256"] = sha256
    await asyncio.to_thread(digest, "md5", body)
    return body
