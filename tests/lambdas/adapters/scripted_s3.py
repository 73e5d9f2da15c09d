"""An S3 whose answers are scripted, as its client reads them."""

import io
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config

from lambdas.adapters.bucket_copies import Clients, Place, S3Buckets


def refusal(code: str) -> str:
    return f"<Error><Code>{code}</Code><Message>because</Message></Error>"


class _Raw(io.BytesIO):
    def stream(self, *_: object) -> Iterator[bytes]:
        yield self.read()


class Script:
    """Answers in their order; `sent`: what was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str, dict[str, str]]] = []
        self.sent: list[AWSPreparedRequest] = []
        self.sessions = 0

    def answer(self, status: int, body: str = "", **headers: str) -> None:
        self.answers.append((status, body, {name.replace("_", "-"): value for name, value in headers.items()}))

    def __call__(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        self.sent.append(request)
        status, body, headers = self.answers.pop(0)
        return AWSResponse(request.url, status, cast(Any, headers), _Raw(body.encode()))

    def headers(self, at: int = -1) -> dict[str, str]:
        told = self.sent[at].headers.items()
        return {name.lower(): value.decode() if isinstance(value, bytes) else value for name, value in told}

    def query(self, at: int = -1) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.sent[at].url).query, keep_blank_values=True)

    def renew(self) -> Clients:
        self.sessions += 1
        make: Any = boto3.client
        client = make(
            "s3",
            region_name="eu-west-1",
            aws_access_key_id=f"key-{self.sessions}",
            aws_secret_access_key="secret",
            config=Config(retries={"mode": "standard", "total_max_attempts": 3}),
        )
        client.meta.events.register("before-send.s3", self)
        return Clients(client, client)


def opened(script: Script, written: dict[str, Any]) -> S3Buckets:
    return S3Buckets(Place("from", "a/", "111111111111"), Place("into", "b/", "222222222222"), written, script.renew)
