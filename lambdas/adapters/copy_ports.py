"""What copies need of two buckets: the port, and what goes through it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from lambdas.core.copies.listed import Listed
from lambdas.core.copies.parts import Part
from lambdas.core.copies.proof import Algorithm


@dataclass(frozen=True)
class Source:
    """An object as it is now: what a listing says, and what only a look at it says.

    `kept`: headers and metadata, by the parameters of CreateMultipartUpload. `version`: None in a bucket without.
    """

    listed: Listed
    version: str | None = None
    checksums: Mapping[Algorithm, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)


class Copy(NamedTuple):
    """What the destination has: its ETag, bytes, and checksums of the whole."""

    etag: str
    size: int
    checksums: Mapping[Algorithm, str]


class Sent(NamedTuple):
    """A part that S3 has copied; `checksum`: by the algorithm of its upload."""

    number: int
    etag: str
    size: int
    checksum: str | None = None


class Condition(NamedTuple):
    """What must be at the destination for a write to happen: nothing, the object of this ETag, or whatever there is."""

    nothing: bool = False
    etag: str | None = None


class Upload(NamedTuple):
    """An unfinished upload: its id, when it was begun (Unix, s), and whoever did, as S3 calls them."""

    upload_id: str
    begun: float
    by: str


class Buckets(Protocol):
    """A source and a destination; keys are those below their prefixes. Requests are tried again by themselves."""

    def problems(self, *, writes: bool) -> list[str]:
        """Why the buckets cannot be read, or written, for people; nothing is left of how that was tried."""

    def source(self, after: str | None) -> Iterator[Listed]:
        """Objects of the source behind a key, in the order of their keys, a page at a time."""

    def there(self, after: str | None) -> Iterator[Listed]:
        """Objects of the destination, likewise."""

    def find(self, key: str) -> Source | None:
        """The source's object of this key; None where there is none. Raises NotCopied."""

    def find_there(self, key: str) -> Source | None:
        """The destination's, likewise."""

    def look(self, listed: Listed) -> Source:
        """The object, as long as it is what was listed; raises NotCopied."""

    def look_there(self, key: str) -> Copy | None:
        """What the destination has; None where it has nothing."""

    def copy(self, source: Source, condition: Condition) -> Copy:
        """Copy an object at once; raises NotCopied, Taken."""

    def begin(self, source: Source) -> str:
        """Begin an upload with the object's metadata and tags; its id. Raises NotCopied."""

    def sent(self, key: str, upload_id: str) -> list[Sent]:
        """The parts that an upload has; raises UploadGone."""

    def copy_part(self, source: Source, upload_id: str, part: Part) -> Sent:
        """Copy a part; raises NotCopied, UploadGone."""

    def complete(self, source: Source, upload_id: str, sent: Sequence[Sent], condition: Condition) -> Copy:
        """Make an object of the parts; raises NotCopied, Taken, UploadGone."""

    def abort(self, key: str, upload_id: str) -> None:
        """Forget an upload; one that is gone is fine."""

    def uploads(self, key: str) -> list[Upload]:
        """Unfinished uploads to a key of the destination, whoever began them."""

    def requests(self) -> Mapping[str, int]:
        """How many were made, by what they are priced as."""
