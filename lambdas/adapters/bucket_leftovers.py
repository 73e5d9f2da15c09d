"""What a transfer has left in a bucket: uploads that its sessions have begun, and notes of its receivers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnectionError

from lambdas.adapters import clients
from lambdas.adapters.leftover_ports import LeftUpload
from lambdas.adapters.throttling import is_denied
from lambdas.core.errors import MissingPermission, Throttled
from lambdas.core.seats.credentials import BucketPlace, SeatCredentials

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# DeleteObjects takes 1 000 keys.
_PAGE = 1_000
# Of an upload that somebody has completed or aborted meanwhile.
_GONE = frozenset({"NoSuchUpload", "404"})


class S3Leftovers:
    """Leftovers over S3."""

    def __init__(self, client: "S3Client", place: BucketPlace) -> None:
        self._client, self._place = client, place
        self._bucket: Any = {"Bucket": place.bucket}
        if place.owner is not None:
            self._bucket["ExpectedBucketOwner"] = place.owner

    def uploads(self, by: frozenset[str]) -> list[LeftUpload]:
        """See Leftovers."""
        asked: Any = {**self._bucket, "Prefix": self._place.prefix}
        found: list[Any] = []
        with self._named(), _nothing_without_a_bucket():
            for page in self._client.get_paginator("list_multipart_uploads").paginate(**asked):
                found += page.get("Uploads", [])
        return [LeftUpload(one["Key"], one["UploadId"]) for one in found if one.get("Initiator", {}).get("ID") in by]

    def size(self, upload: LeftUpload) -> int:
        """See Leftovers."""
        asked: Any = {**self._bucket, "Key": upload.key, "UploadId": upload.upload_id}
        with self._named():
            try:
                pages = self._client.get_paginator("list_parts").paginate(**asked)
                return sum(part["Size"] for page in pages for part in page.get("Parts", []))
            except ClientError as error:
                if error.response["Error"]["Code"] in _GONE:
                    return 0
                raise

    def abort(self, upload: LeftUpload) -> None:
        """See Leftovers."""
        asked: Any = {**self._bucket, "Key": upload.key, "UploadId": upload.upload_id}
        with self._named():
            try:
                self._client.abort_multipart_upload(**asked)
            except ClientError as error:
                if error.response["Error"]["Code"] not in _GONE:
                    raise

    def remove(self, below: str) -> int:
        """See Leftovers."""
        prefix = f"{self._place.prefix}{below}"
        count = 0
        with self._named(), _nothing_without_a_bucket():
            pages = self._client.get_paginator("list_objects_v2").paginate(
                **self._bucket, Prefix=prefix, PaginationConfig={"PageSize": _PAGE}
            )
            for page in pages:
                objects: Any = [{"Key": one["Key"]} for one in page.get("Contents", [])]
                if objects:
                    request: Any = {"Objects": objects, "Quiet": True}
                    left = self._client.delete_objects(**self._bucket, Delete=request).get("Errors", [])
                    if left:
                        raise MissingPermission(f"{self._words}: {left[0].get('Code')}: {left[0].get('Message')}")
                    count += len(objects)
        return count

    @property
    def _words(self) -> str:
        return f"what is left below s3://{self._place.bucket}/{self._place.prefix} cannot be removed"

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Tell what somebody has to allow from what another look may find."""
        try:
            yield
        except ClientError as error:
            if is_denied(error):
                raise MissingPermission(f"{self._words}: {error}") from error
            raise Throttled(f"{self._words}: {error}") from error
        except (HTTPClientError, NoConnectionError) as error:
            raise Throttled(f"{self._words}: {error}") from error


@contextmanager
def _nothing_without_a_bucket() -> Iterator[None]:
    """In a bucket that is gone nothing is left."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchBucket":
            raise


def leftovers_by_session(place: BucketPlace, session: Callable[[], SeatCredentials]) -> S3Leftovers:
    """What is left below a prefix, with a session of its own."""
    return S3Leftovers(clients.s3_of_session(place.region, session()), place)
