"""Archived objects over S3, with a session that may restore below one prefix."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.adapters import clients
from lambdas.adapters.archive_ports import ArchivedState
from lambdas.adapters.copy_refusals import GONE, code_of, said
from lambdas.adapters.renewed_session import RenewedSession
from lambdas.adapters.throttling import is_denied
from lambdas.core.ends.archived import is_archived
from lambdas.core.ends.retrieval import Tier
from lambdas.core.errors import MissingPermission, RestoreRefused
from lambdas.core.restores.rounds import ArchivedObject
from lambdas.core.seats.credentials import BucketPlace, SeatCredentials

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# The object is being restored, or is not archived any more: the next look says which.
_NOT_NEEDED = frozenset({"RestoreAlreadyInProgress", "ObjectAlreadyInActiveTierError", "InvalidObjectState"})
_NO_CAPACITY = "GlacierExpeditedRetrievalNotAvailable"


class S3Archive:
    """Archive over S3; `renew` makes a client of a new session."""

    def __init__(self, place: BucketPlace, tier: Tier, renew: Callable[[], "S3Client"]) -> None:
        self._place, self._tier, self._session = place, tier, RenewedSession(renew)

    def look(self, one: ArchivedObject) -> ArchivedState:
        """See Archive."""
        try:
            found: Any = self._session.call(lambda client: client.head_object(**self._at(one)))
        except ClientError as error:
            if code_of(error) in GONE:
                return "gone"
            raise RestoreRefused(f"{self._named(one)} cannot be looked at: {said(error)}") from error
        if found["ETag"] != one.etag:
            return "replaced"
        told, storage = found.get("Restore", ""), found.get("StorageClass", "STANDARD")
        if 'ongoing-request="true"' in told:
            return "restoring"
        is_restored = 'ongoing-request="false"' in told
        status = found.get("ArchiveStatus")
        return "archived" if is_archived(storage, is_restored=is_restored, archive_status=status) else "ready"

    def ask(self, one: ArchivedObject, storage_class: str, days: int) -> None:
        """See Archive."""
        wish: Any = {"GlacierJobParameters": {"Tier": self._tier}}
        # What comes out of the archives of INTELLIGENT_TIERING stays out: S3 refuses days of it.
        wish |= {} if storage_class == "INTELLIGENT_TIERING" else {"Days": days}
        try:
            self._session.call(lambda client: client.restore_object(**self._at(one), RestoreRequest=wish))
        except ClientError as error:
            code = code_of(error)
            if code in _NOT_NEEDED or code in GONE:
                return
            if is_denied(error):
                raise MissingPermission(
                    f"{self._named(one)} may not be restored: {said(error)}; the setting `buckets` says restore of the "
                    "entry (docs/deploy.md), and the bucket's policy must not deny s3:RestoreObject"
                ) from error
            remedy = "; write $.source.restore.tier as 'Standard', or start again later" if code == _NO_CAPACITY else ""
            raise RestoreRefused(f"{self._named(one)} cannot be restored: {said(error)}{remedy}") from error

    def _named(self, one: ArchivedObject) -> str:
        return f"s3://{self._place.bucket}/{self._place.prefix}{one.key}"

    def _at(self, one: ArchivedObject) -> Any:
        owner = {} if self._place.owner is None else {"ExpectedBucketOwner": self._place.owner}
        return {"Bucket": self._place.bucket, "Key": self._place.prefix + one.key, **owner}


def archive_by_session(place: BucketPlace, tier: Tier, session: Callable[[], SeatCredentials]) -> S3Archive:
    """Objects below a prefix, asked at the bucket's region."""
    return S3Archive(place, tier, lambda: clients.s3_of_session(place.region, session()))
