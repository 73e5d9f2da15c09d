"""Copies between two buckets, by S3 itself: no byte passes through here."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from botocore.exceptions import ClientError, ParamValidationError

from lambdas.adapters.copy_ports import Condition, Copy, Sent, Source, Upload
from lambdas.adapters.copy_refusals import (
    CONFLICT,
    GONE,
    NO_UPLOAD,
    code_of,
    problem,
    refuse_bucket,
    refuse_destination,
    refuse_source,
    said,
)
from lambdas.adapters.renewed_session import RenewedSession
from lambdas.core.copies import proof
from lambdas.core.copies.listed import Listed
from lambdas.core.copies.outcome import NotCopied
from lambdas.core.copies.parts import Part
from lambdas.core.ends.archived import is_archived
from lambdas.core.ends.object_writing import ARCHIVES

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_FULL: Any = {"ChecksumType": proof.FULL}
# What CopyObject keeps by itself, and an upload is begun with.
_KEPT = (
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "Expires",
    "Metadata",
)
# Of an upload that is never completed.
_PROBE = ".cpt-partial-probe"
_CONFLICTS = 5
"""Times that a write is tried again with which another one collides."""
Answer = TypeVar("Answer")


class Place(NamedTuple):
    """A bucket and a prefix, and the account that must own it, where that is known."""

    bucket: str
    prefix: str
    owner: str | None = None

    @property
    def where(self) -> str:
        """The bucket and the prefix, for people."""
        return f"s3://{self.bucket}/{self.prefix}"


class Clients(NamedTuple):
    """Clients with one session: one in each bucket's region. A copy is asked of the destination's."""

    source: "S3Client"
    destination: "S3Client"


class S3Buckets:
    """Buckets over S3; `written`: how copies are kept, as a request says it; `renew` makes clients of a new session."""

    def __init__(
        self, source: Place, destination: Place, written: Mapping[str, Any], renew: Callable[[], Clients]
    ) -> None:
        self._from, self._to, self._session = source, destination, RenewedSession(renew)
        self._asked, self._tags_asked = _as_headers(written), written.get("tags")
        self._lock, self._count = Lock(), Counter[str]()

    def problems(self, *, writes: bool) -> list[str]:
        """See Buckets."""
        found = []
        sides: tuple[tuple[str, Place, Callable[[Clients], S3Client]], ...] = (
            ("source", self._from, lambda clients: clients.source),
            ("destination", self._to, lambda clients: clients.destination),
        )
        for side, place, client in sides:
            asked = {"Bucket": place.bucket, "Prefix": place.prefix, "MaxKeys": 1, **_owner(place)}
            try:
                answer = self._call("list", partial(_page_of_objects, client, asked))
            except ClientError as error:
                found.append(problem(side, place.where, "listed", said(error)))
                continue
            # Clients follow S3 to the bucket's own region: the estimate and the keys would be those of another one.
            region = answer["ResponseMetadata"]["HTTPHeaders"].get("x-amz-bucket-region")
            if region not in (None, client(self._session.held).meta.region_name):
                found.append(problem(side, place.where, "used so", f"it is in another region, {region}"))
        if not found and writes:
            found += self._problems_of_writing()
        return found

    def _problems_of_writing(self) -> list[str]:
        """An upload that is begun and aborted proves the right to write with this class, these tags and this key."""
        at = self._at(_PROBE) | self._asked
        at |= {"Tagging": urlencode(self._tags_asked)} if self._tags_asked else {}
        try:
            answer = self._call("begin", lambda clients: clients.destination.create_multipart_upload(**at))
            self.abort(_PROBE, answer["UploadId"])
        except ClientError as error:
            return [problem("destination", self._to.where, "written", said(error))]
        return []

    def source(self, after: str | None) -> Iterator[Listed]:
        """See Buckets."""
        return self._list(lambda clients: clients.source, self._from, after)

    def there(self, after: str | None) -> Iterator[Listed]:
        """See Buckets."""
        return self._list(lambda clients: clients.destination, self._to, after)

    def _list(self, side: Callable[[Clients], "S3Client"], place: Place, after: str | None) -> Iterator[Listed]:
        asked: dict[str, Any] = {"Bucket": place.bucket, "Prefix": place.prefix, **_owner(place)}
        asked |= {} if after is None else {"StartAfter": place.prefix + after}
        asked |= {"OptionalObjectAttributes": ["RestoreStatus"]} if place is self._from else {}
        while True:
            try:
                answer = self._call("list", partial(_page_of_objects, side, dict(asked)))
            except ClientError as error:
                refuse_bucket("source" if place is self._from else "destination", place.where, "listed", error)
            for found in answer.get("Contents", []):
                storage = found.get("StorageClass", "STANDARD")
                is_restored = "RestoreExpiryDate" in found.get("RestoreStatus", {})
                yield Listed(
                    found["Key"][len(place.prefix) :],
                    found["Size"],
                    found["ETag"],
                    found["LastModified"].timestamp(),
                    storage,
                    is_archived(storage, is_restored=is_restored),
                )
            if not answer.get("IsTruncated"):
                return
            asked["ContinuationToken"] = answer["NextContinuationToken"]

    def find(self, key: str) -> Source | None:
        """See Buckets."""
        return self._find(lambda clients: clients.source, self._from, key)

    def find_there(self, key: str) -> Source | None:
        """See Buckets."""
        return self._find(lambda clients: clients.destination, self._to, key)

    def _find(self, side: Callable[[Clients], "S3Client"], place: Place, key: str) -> Source | None:
        asked: Any = {"Bucket": place.bucket, "Key": place.prefix + key, **_owner(place), "ChecksumMode": "ENABLED"}
        try:
            found: Any = self._call("head", lambda clients: side(clients).head_object(**asked))
        except ClientError as error:
            if code_of(error) in GONE:
                return None
            refuse_source(error)
        modified, storage = found["LastModified"].timestamp(), found.get("StorageClass", "STANDARD")
        is_restored = 'ongoing-request="false"' in found.get("Restore", "")
        archived = is_archived(storage, is_restored=is_restored, archive_status=found.get("ArchiveStatus"))
        listed = Listed(key, found["ContentLength"], found["ETag"], modified, storage, archived)
        return Source(listed, found.get("VersionId"), proof.checksums(found))

    def look(self, listed: Listed) -> Source:
        """See Buckets."""
        asked: Any = {"Bucket": self._from.bucket, "Key": self._from.prefix + listed.key, **_owner(self._from)}
        asked |= {"IfMatch": listed.etag, "ChecksumMode": "ENABLED"}
        try:
            found: Any = self._call("head", lambda clients: clients.source.head_object(**asked))
        except ClientError as error:
            refuse_source(error)
        kept = {name: found[name] for name in _KEPT if found.get(name)}
        storage = found.get("StorageClass", "STANDARD")
        if storage != "STANDARD" and storage not in ARCHIVES:
            kept["StorageClass"] = storage
        return Source(listed, found.get("VersionId"), proof.checksums(found), kept)

    def look_there(self, key: str) -> Copy | None:
        """See Buckets."""
        asked: Any = {"Bucket": self._to.bucket, "Key": self._to.prefix + key, **_owner(self._to)}
        try:
            found: Any = self._call(
                "head", lambda clients: clients.destination.head_object(**asked, ChecksumMode="ENABLED")
            )
        except ClientError as error:
            if code_of(error) in GONE:
                return None
            refuse_destination(error)
        return Copy(found["ETag"], found["ContentLength"], proof.checksums(found))

    def copy(self, source: Source, condition: Condition) -> Copy:
        """See Buckets."""
        asked: Any = {**self._of(source), **self._at(source.listed.key), **_conditions(condition)}
        asked |= {"ChecksumAlgorithm": proof.asked(source.checksums)}
        asked |= {name: source.kept[name] for name in ("StorageClass",) if name in source.kept} | self._asked
        if self._tags_asked:
            asked |= {"TaggingDirective": "REPLACE", "Tagging": urlencode(self._tags_asked)}
        answer: Any = self._write("copy", lambda clients: clients.destination.copy_object(**asked))
        made = answer["CopyObjectResult"]
        return Copy(made["ETag"], source.listed.size, proof.checksums(made))

    def begin(self, source: Source) -> str:
        """See Buckets."""
        asked: Any = {**self._at(source.listed.key), **source.kept, **_FULL, **self._asked}
        asked["ChecksumAlgorithm"] = proof.asked_of_parts(source.checksums)
        if tags := self._tags_asked or self._tags(source):
            asked["Tagging"] = urlencode(tags)
        try:
            answer: Any = self._write("begin", lambda clients: clients.destination.create_multipart_upload(**asked))
        except ParamValidationError as error:
            # The client sends no metadata beyond ASCII; a copy at once has S3 keep what is there.
            raise NotCopied("destination-refused", f"its metadata cannot be sent: {error}"[:300]) from error
        return str(answer["UploadId"])

    def _tags(self, source: Source) -> dict[str, str]:
        asked: Any = {"Bucket": self._from.bucket, "Key": self._from.prefix + source.listed.key, **_owner(self._from)}
        asked |= {} if source.version is None else {"VersionId": source.version}
        try:
            found: Any = self._call("tags", lambda clients: clients.source.get_object_tagging(**asked))
        except ClientError as error:
            refuse_source(error)
        return {tag["Key"]: tag["Value"] for tag in found["TagSet"]}

    def sent(self, key: str, upload_id: str) -> list[Sent]:
        """See Buckets."""
        asked: Any = {**self._at(key), "UploadId": upload_id}
        found: list[Sent] = []
        while True:
            answer = self._write("parts", partial(_page_of_parts, dict(asked)))
            name = f"Checksum{answer.get('ChecksumAlgorithm')}"
            found += [
                Sent(part["PartNumber"], part["ETag"], part["Size"], part.get(name)) for part in answer.get("Parts", [])
            ]
            if not answer.get("IsTruncated"):
                return found
            asked["PartNumberMarker"] = answer["NextPartNumberMarker"]

    def copy_part(self, source: Source, upload_id: str, part: Part) -> Sent:
        """See Buckets."""
        asked: Any = {**self._of(source), **self._at(source.listed.key), "UploadId": upload_id}
        asked |= {"PartNumber": part.number, "CopySourceRange": f"bytes={part.first}-{part.last}"}
        answer: Any = self._write("part", lambda clients: clients.destination.upload_part_copy(**asked))
        made = answer["CopyPartResult"]
        checksum = made.get(f"Checksum{proof.asked_of_parts(source.checksums)}")
        return Sent(part.number, made["ETag"], part.size, checksum)

    def complete(self, source: Source, upload_id: str, sent: Sequence[Sent], condition: Condition) -> Copy:
        """See Buckets."""
        algorithm = proof.asked_of_parts(source.checksums)
        name = f"Checksum{algorithm}"
        parts = [
            {"PartNumber": one.number, "ETag": one.etag} | ({name: one.checksum} if one.checksum else {})
            for one in sent
        ]
        asked: Any = {**self._at(source.listed.key), "UploadId": upload_id, **_conditions(condition)}
        asked |= {"MultipartUpload": {"Parts": parts}, "MpuObjectSize": source.listed.size, "ChecksumType": proof.FULL}
        if algorithm in source.checksums:
            # S3 refuses to make an object of other bytes than the source's.
            asked[name] = source.checksums[algorithm]
        # Nothing is tried again that has come to an end: a conflict may mean that all parts are to be sent again.
        answer: Any = self._write(
            "complete", lambda clients: clients.destination.complete_multipart_upload(**asked), conflicts=1
        )
        return Copy(answer["ETag"], source.listed.size, proof.checksums(answer))

    def abort(self, key: str, upload_id: str) -> None:
        """See Buckets."""
        asked: Any = {**self._at(key), "UploadId": upload_id}
        try:
            self._call("abort", lambda clients: clients.destination.abort_multipart_upload(**asked))
        except ClientError as error:
            if code_of(error) not in NO_UPLOAD | GONE:
                raise

    def uploads(self, key: str) -> list[Upload]:
        """See Buckets."""
        wanted = self._to.prefix + key
        asked: Any = {"Bucket": self._to.bucket, "Prefix": wanted, **_owner(self._to)}
        answer: Any = self._call("list", lambda clients: clients.destination.list_multipart_uploads(**asked))
        return [
            Upload(one["UploadId"], one["Initiated"].timestamp(), str(one.get("Initiator", {}).get("ID", "")))
            for one in answer.get("Uploads", [])
            if one["Key"] == wanted
        ]

    def requests(self) -> Mapping[str, int]:
        """See Buckets."""
        return self._count

    def _of(self, source: Source) -> dict[str, Any]:
        """What is copied: just the version, with just the ETag, that was listed."""
        version = {} if source.version is None else {"VersionId": source.version}
        where = {"Bucket": self._from.bucket, "Key": self._from.prefix + source.listed.key, **version}
        owner = {} if self._from.owner is None else {"ExpectedSourceBucketOwner": self._from.owner}
        return {"CopySource": where, "CopySourceIfMatch": source.listed.etag, **owner}

    def _at(self, key: str) -> dict[str, Any]:
        return {"Bucket": self._to.bucket, "Key": self._to.prefix + key, **_owner(self._to)}

    def _write(self, kind: str, send: Callable[[Clients], Answer], *, conflicts: int = _CONFLICTS) -> Answer:
        """Send what changes the destination; its refusals are named."""
        while True:
            try:
                return self._call(kind, send)
            except ClientError as error:
                conflicts -= 1
                if code_of(error) in CONFLICT and conflicts:
                    continue
                refuse_destination(error)

    def _call(self, kind: str, send: Callable[[Clients], Answer]) -> Answer:
        """Count one request and send it."""
        with self._lock:
            self._count[kind] += 1
        return self._session.call(send)


def _page_of_objects(side: Callable[[Clients], "S3Client"], asked: Any, clients: Clients) -> Any:
    return side(clients).list_objects_v2(**asked)


def _page_of_parts(asked: Any, clients: Clients) -> Any:
    return clients.destination.list_parts(**asked)


def _as_headers(written: Mapping[str, Any]) -> dict[str, str]:
    """Class and key of what is written, by S3's parameters."""
    headers = {}
    if "storageClass" in written:
        headers["StorageClass"] = written["storageClass"]
    if "kmsKeyId" in written:
        headers |= {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": written["kmsKeyId"]}
    return headers


def _owner(place: Place) -> dict[str, str]:
    return {} if place.owner is None else {"ExpectedBucketOwner": place.owner}


def _conditions(condition: Condition) -> dict[str, str]:
    if condition.nothing:
        return {"IfNoneMatch": "*"}
    return {} if condition.etag is None else {"IfMatch": condition.etag}
