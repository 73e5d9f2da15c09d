"""The control bucket."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# DeleteObjects takes 1 000 keys.
_PAGE = 1_000
_CHUNK = 1 << 20


class S3Objects:
    """Objects over S3."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, key: str, body: bytes) -> None:
        """See Objects."""
        self._client.put_object(Bucket=self._bucket, Key=key, Body=body)

    def lines(self, key: str) -> Iterator[bytes]:
        """See Objects."""
        body = self._client.get_object(Bucket=self._bucket, Key=key)["Body"]
        yield from body.iter_lines(chunk_size=_CHUNK)

    def keys(self, prefix: str) -> list[str]:
        """See Objects."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        return sorted(item["Key"] for page in pages for item in page.get("Contents", []))

    def delete(self, keys: Iterable[str]) -> None:
        """See Objects."""
        wanted = list(keys)
        for start in range(0, len(wanted), _PAGE):
            objects = [{"Key": key} for key in wanted[start : start + _PAGE]]
            self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": objects, "Quiet": True})  # type: ignore[typeddict-item]
