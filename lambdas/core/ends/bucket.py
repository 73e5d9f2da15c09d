"""A bucket of S3, or the keys of it below a prefix, as an end of a transfer.

A bucket has no machine of its own: its seat works on the machine of the other end, or, where both ends are buckets,
functions copy. So it says nothing of machines, and nobody is enrolled for its region.
"""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lambdas.core.documents import Document, Region
from lambdas.core.ends.archived import ArchivedRule, RestoreWish
from lambdas.core.ends.key_list import ListKey
from lambdas.core.ends.landing import KEPT_NAME
from lambdas.core.ends.object_writing import KmsKeyArn, ObjectTags, StorageClass, written_as
from lambdas.core.places.place import Place

# S3's limits of an object that is uploaded in parts; the last part may be smaller.
LEAST_PART_BYTES = 5 << 20
MOST_PART_BYTES = 5 << 30
MOST_PARTS = 10_000
# A key has 1 024 bytes: what a prefix takes is not there for what lands below it.
MOST_OF_PREFIX_BYTES = 900
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"[0-9]+(\.[0-9]+){3}")
_OTHER_KINDS = {
    "--x-s3": "directory buckets keep other rules than buckets do, and are no end of a transfer",
    "--table-s3": "table buckets hold tables, and are no end of a transfer",
    "-s3alias": "this is the alias of an access point; name the bucket behind it",
    "--ol-s3": "this is the alias of an Object Lambda access point; name the bucket behind it",
    ".mrap": "this is the alias of a multi-region access point; name one bucket behind it",
}
_NAME = "write the name of a bucket: 3 to 63 lower-case letters, digits, '-' or '.', e.g. my-data"
_PARTITIONS = {
    "cn-": "aws-cn",
    "us-gov-": "aws-us-gov",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "us-isof-": "aws-iso-f",
    "eu-isoe-": "aws-iso-e",
    "eusc-": "aws-eusc",
}


def _bucket_name(value: str) -> str:
    other = next((why for ending, why in _OTHER_KINDS.items() if value.endswith(ending)), None)
    if other is not None:
        raise PydanticCustomError("bucket_kind", "{why}", {"why": other})
    if value.startswith("arn:"):
        raise PydanticCustomError("bucket_arn", "write the bucket's name, without what its ARN has before it")
    if value.startswith("s3:"):
        raise PydanticCustomError("bucket_uri", "write the bucket's name alone, and its keys' beginning in prefix")
    if not _BUCKET.fullmatch(value) or ".." in value or _ADDRESS.fullmatch(value):
        raise PydanticCustomError("bucket_name", _NAME)
    return value


def _prefix(value: str) -> str:
    names = value.split("/")
    if names.pop():
        why = f"end it with '/', e.g. {value[:40].rstrip('/')}/: all keys below it are meant"
    elif value.startswith("/"):
        why = "write it without '/' at its beginning: a key of S3 has none there"
    elif "" in names:
        why = "write names joined by single slashes"
    elif "." in names or ".." in names:
        why = "write names only, without '.' and '..'"
    elif any(ord(character) < 0x20 or ord(character) == 0x7F for character in value):
        why = "write it without control characters"
    elif any(name.startswith(KEPT_NAME) for name in names):
        why = f"names that begin with '{KEPT_NAME}' are those of unfinished transfers; choose another"
    elif len(value.encode()) > MOST_OF_PREFIX_BYTES:
        why = f"write {MOST_OF_PREFIX_BYTES} bytes at most"
    else:
        return value
    raise PydanticCustomError("prefix", "{why}", {"why": why})


BucketName = Annotated[str, AfterValidator(_bucket_name)]
Prefix = Annotated[str, AfterValidator(_prefix)]
ACCOUNT = r"^[0-9]{12}$"
Account = Annotated[str, Field(pattern=ACCOUNT)]


def partition_of_region(region: str) -> str:
    """The partition of AWS that a region belongs to, e.g. `aws-cn`: no request reaches from one into another."""
    return next((name for beginning, name in _PARTITIONS.items() if region.startswith(beginning)), "aws")


class BucketEnd(Document):
    """The objects of a bucket whose keys begin with `prefix`; without one, all of them."""

    kind: Literal["bucket"]
    bucket: BucketName
    prefix: Prefix = ""
    region: Region
    expected_bucket_owner: Account | None = None
    """The account that must own the bucket; absent: what the settings say, else the deployment's."""
    where_field: ClassVar[str] = "prefix"
    several_field: ClassVar[str] = "bucket"
    machine_ids: ClassVar[tuple[str, ...]] = ()
    machines: ClassVar[tuple[tuple[str, str], ...]] = ()
    share: ClassVar[tuple[int | None, int | None]] = (None, None)
    stored_checksums: ClassVar[bool] = False
    regions: ClassVar[tuple[str, ...]] = ()
    """Nothing is launched or started beside it."""

    @property
    def place(self) -> Place:
        """Where the bucket is."""
        return Place(self.region)

    @property
    def where(self) -> str:
        """The bucket and the prefix, for people and tools."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def machine_words(self) -> str:
        """What stands in a machine's place, for people."""
        return f"bucket {self.bucket}"

    def told(self, _instance_id: str) -> str:
        """The same of whichever machine looks at it."""
        return f"'{self.where}'"

    def field_of(self, _at: int) -> str:
        """The key, below the end's, that names it."""
        return "bucket"

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """The end as commands to its daemon name it; `preserve`: what is kept of each entry, or nothing."""
        where = {"bucket": self.bucket, "prefix": self.prefix, "region": self.region}
        return {"kind": self.kind, **where, **preserve}


class KeysFrom(Document):
    """The list of the keys that are moved, in the control bucket."""

    manifest: ListKey


class SourceBucket(BucketEnd):
    """The bucket that has the data: what its keys have after the prefix is the path at the destination.

    `keys` names the objects that are moved, where that are not all below the prefix.
    """

    keys: KeysFrom | None = None
    archived: ArchivedRule = "refuse"
    """What becomes of objects that would have to be restored before they can be read."""
    restore: RestoreWish | None = None
    """How they are restored, where the request says something of it."""

    tops: ClassVar[list[str] | None] = None
    apart: ClassVar[list[str]] = []
    above: ClassVar[list[str]] = []

    @property
    def restoring(self) -> RestoreWish | None:
        """How archived objects are restored; None where they are not."""
        return (self.restore or RestoreWish()) if self.archived == "restore" else None

    @property
    def asked_paths(self) -> list[str | dict[str, str]]:
        """What stands for it among paths."""
        return [self.where]

    @property
    def plain_paths(self) -> list[str]:
        """The same: contents are meant."""
        return [self.where]

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """See BucketEnd."""
        return super().command(preserve) | ({} if self.archived == "refuse" else {"archived": self.archived})


class DestinationBucket(BucketEnd):
    """The bucket that gets the data: keys are the prefix and the path at the source, as it lands.

    Each object gets the class, tags and key; without them STANDARD, none (of copies: the source's), the bucket's.
    """

    storage_class: StorageClass | None = None
    tags: ObjectTags = Field(default_factory=dict)
    kms_key_id: KmsKeyArn | None = None

    @property
    def written(self) -> dict[str, Any]:
        """How objects are written, where the request says something of it."""
        return written_as(self.storage_class, self.tags, self.kms_key_id)

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """See BucketEnd."""
        return super().command(preserve) | self.written

    @property
    def lock_ids(self) -> tuple[str, ...]:
        """Its prefixes can overlap with those of any transfer into the same bucket."""
        return (f"s3://{self.bucket}",)

    @property
    def lock_path(self) -> str:
        """The prefix as a path: of two, one holds the other or both are apart."""
        return f"/{self.prefix}"
