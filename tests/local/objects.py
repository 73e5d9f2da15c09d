"""What tests of objects share: uploads, checksums, refusals, and requests that are sent a piece at a time."""

import base64
import socket
from collections.abc import Callable
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from local.patches.objects.crc import CRCS
from tests.local.assembly import HOME

LEAST = 5 << 20


def crc64(body: bytes) -> str:
    return base64.b64encode(CRCS["CRC64NVME"].of(body).to_bytes(8)).decode()


def upload(s3: Any, at: dict[str, str], parts: dict[int, bytes], **begun: Any) -> dict[str, Any]:
    """Begin an upload and put its parts; what its completion takes."""
    upload_id = s3.create_multipart_upload(**at, **begun)["UploadId"]
    listed = [
        {"PartNumber": number, "ETag": s3.upload_part(**at, UploadId=upload_id, PartNumber=number, Body=body)["ETag"]}
        for number, body in parts.items()
    ]
    return {**at, "UploadId": upload_id, "MultipartUpload": {"Parts": listed}}


def refusal(call: Any, **words: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as refused:
        call(**words)
    answer: Any = refused.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def in_two_pieces(endpoint: str, request: AWSRequest, between: Callable[[], Any]) -> str:
    """Send the head of a request, and its body after `between`; the answer's status line."""
    S3SigV4Auth(Credentials("test", "test"), "s3", HOME).add_auth(request)
    prepared = request.prepare()
    host, port = endpoint.removeprefix("http://").split(":")
    told = {"Host": f"{host}:{port}", "Connection": "close", "Expect": "100-continue"} | {
        name: value.decode() if isinstance(value, bytes) else value for name, value in prepared.headers.items()
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    path = prepared.url.removeprefix(endpoint)
    with (
        socket.create_connection((host, int(port)), timeout=30) as connection,
        connection.makefile("rb") as answer,
    ):
        connection.sendall(f"{prepared.method} {path} HTTP/1.1\r\n{head}\r\n".encode())
        # The server asks for the body once it has begun to serve the request.
        assert answer.readline().startswith(b"HTTP/1.1 100")
        answer.readline()
        between()
        connection.sendall(request.data or b"")
        return answer.readline().decode().strip()
