"""The control bucket."""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.adapters.throttling import is_absent, is_throttled
from lambdas.core.errors import Throttled

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# DeleteObjects takes 1 000 keys.
_PAGE = 1_000
_CHUNK = 1 << 20
# So that a browser shows what a person opens in the console.
_CONTENT_TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json", ".ndjson": "application/x-ndjson"}


class S3Objects:
    """Objects over S3."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, key: str, body: bytes) -> None:
        """See Objects."""
        kind = _CONTENT_TYPES.get(PurePosixPath(key).suffix, "application/octet-stream")
        self._client.put_object(Bucket=self._bucket, Key=key, Body=body, ContentType=kind)

    def read(self, key: str) -> bytes | None:
        """See Objects."""
        try:
            return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ClientError as error:
            if is_absent(error):
                return None
            raise

    def size(self, key: str) -> int | None:
        """See Objects."""
        try:
            return self._client.head_object(Bucket=self._bucket, Key=key)["ContentLength"]
        except ClientError as error:
            if is_absent(error):
                return None
            raise

    def lines(self, key: str) -> Iterator[bytes]:
        """See Objects."""
        body = self._client.get_object(Bucket=self._bucket, Key=key)["Body"]
        yield from body.iter_lines(chunk_size=_CHUNK)

    def keys(self, prefix: str) -> list[str]:
        """See Objects."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        return sorted(item["Key"] for page in pages for item in page.get("Contents", []))

    def delete(self, keys: Iterable[str]) -> int:
        """See Objects; an answer of 200 may say of single keys that they are still there."""
        wanted, left = list(keys), list[str]()
        for start in range(0, len(wanted), _PAGE):
            objects = [{"Key": key} for key in wanted[start : start + _PAGE]]
            request: Any = {"Objects": objects, "Quiet": True}
            answer = self._client.delete_objects(Bucket=self._bucket, Delete=request)
            left += [error.get("Code", "") for error in answer.get("Errors", [])]
        if any(is_throttled(code) for code in left):
            raise Throttled(f"S3 left {len(left)} objects of {len(wanted)}, and asks to come later")
        return len(wanted) - len(left)
