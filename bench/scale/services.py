"""The SDK's own clients, answered in this process: all that a Lambda's code does is measured, and no network."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from threading import Lock
from typing import Any
from urllib.parse import unquote

import boto3
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from lambdas.core.chunks.chunk import RANGE_SIZE

Answer = Callable[[Any], bytes]


class _Body(BytesIO):
    """What urllib3 would give."""

    def stream(self, **_: Any) -> Any:
        """The whole, as one piece."""
        return iter([self.getvalue()])


def client(service: str, answers: dict[str, Answer]) -> Any:
    """A client of `service`; each operation's answer is made from the prepared request."""
    made: Any = boto3.client(
        service,  # type: ignore[call-overload]
        region_name="us-west-2",
        aws_access_key_id="none",
        aws_secret_access_key="none",  # noqa: S106  it only has to be there
    )
    for operation, answer in answers.items():
        made.meta.events.register(f"before-send.{service}.{operation}", _respond(answer))
    return made


def _respond(answer: Answer) -> Callable[..., AWSResponse]:
    def respond(request: Any, **_: Any) -> AWSResponse:
        body = answer(request)
        headers = HTTPHeaders()
        headers["Content-Length"] = str(len(body))
        return AWSResponse(request.url, 200, headers, _Body(body))

    return respond


@dataclass
class ChunkTable:
    """DynamoDB with one table of chunks: it counts what is written, and makes what is read by `item`."""

    item: Callable[[int], str]
    chunks: int
    written: int = 0
    _counting: Lock = field(default_factory=Lock)

    def client(self) -> Any:
        """The SDK's client of it."""
        return client("dynamodb", {"BatchWriteItem": self._batch, "Query": self._query})

    def _batch(self, request: Any) -> bytes:
        ((_, requests),) = json.loads(request.body)["RequestItems"].items()
        with self._counting:
            self.written += len(requests)
        return b"{}"

    def _query(self, request: Any) -> bytes:
        values = json.loads(request.body)["ExpressionAttributeValues"]
        number = int(values[":range"]["S"].rpartition("#")[2])
        wanted = range(number * RANGE_SIZE, min((number + 1) * RANGE_SIZE, self.chunks))
        return f'{{"Items":[{",".join(map(self.item, wanted))}]}}'.encode()


@dataclass
class Bucket:
    """S3 with one bucket: it counts what is written, and makes what is read by `read`."""

    read: Callable[[str], bytes]
    keys: list[str] = field(default_factory=list)
    largest: int = 0

    def client(self) -> Any:
        """The SDK's client of it."""
        return client("s3", {"PutObject": self._put, "GetObject": self._get, "ListObjectsV2": self._list})

    def _put(self, request: Any) -> bytes:
        size = int(request.headers.get("X-Amz-Decoded-Content-Length") or request.headers["Content-Length"])
        self.largest = max(self.largest, size)
        return b""

    def _get(self, request: Any) -> bytes:
        return self.read(unquote(request.url.split(".com/", 1)[1]))

    def _list(self, request: Any) -> bytes:
        prefix = unquote(request.url.split("prefix=")[1].split("&")[0])
        found = "".join(f"<Contents><Key>{key}</Key></Contents>" for key in self.keys if key.startswith(prefix))
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()
