"""Extras: what a destination has and the source does not. How they are confirmed, and what became of them."""

from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import Field

from lambdas.core.documents import Count, Document

CONFIRMATION = r"^([0-9a-f]{64}|without-dry-run)$"
WITHOUT_DRY_RUN = "without-dry-run"
# A few hundred entries go when a directory is renamed or a release replaced; a source that is not what it seems (not
# mounted, cleared by mistake) mostly comes to more.
MOST_DELETED = 1_000

Confirmation = Annotated[str, Field(pattern=CONFIRMATION)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
SparedReason = Literal[
    "not-selected", "other-file-system", "partial", "own", "kept", "special", "other-spelling", "unreadable"
]  # fmt: skip
SparedCounts = dict[SparedReason, Annotated[int, Field(ge=1)]]
RemainingReason = Literal["changed", "not-empty", "refused"]
RemainingCounts = dict[RemainingReason, Annotated[int, Field(ge=1)]]


class Extras(Document):
    """How many there are, and what else only the destination has (`spared`); `digest`: of their list."""

    files: Count
    directories: Count
    symlinks: Count
    bytes: Count
    digest: Digest
    spared: SparedCounts | None = None

    @property
    def entries(self) -> int:
        """All that would be removed."""
        return self.files + self.directories + self.symlinks

    def words(self) -> str:
        """For people, e.g. `3 entries (2 files of 1,024 bytes, 1 directory, 0 links)`."""
        return (
            f"{_many(self.entries, 'entry', 'entries')} ({_many(self.files, 'file')} of {self.bytes:,} bytes, "
            f"{_many(self.directories, 'directory', 'directories')}, {_many(self.symlinks, 'link')})"
        )


# Of a destination where nothing is; BLAKE3 of nothing.
NO_EXTRAS = Extras(
    files=0,
    directories=0,
    symlinks=0,
    bytes=0,
    digest="af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
)


class Mostly(Document):
    """A source path of whose mirror more than half would go, or that has nothing (`empty`).

    `path`: its name at the top, percent-encoded, or empty.
    """

    path: str
    entries: Annotated[int, Field(ge=1)]
    of_entries: Annotated[int, Field(ge=1)]
    bytes: Count
    of_bytes: Count
    empty: bool | None = None

    def words(self, destination: str) -> str:
        """For people, e.g. `900 of 901 entries of /copy/media`."""
        where = f"{destination.rstrip('/')}/{unquote(self.path, errors='backslashreplace')}".rstrip("/") or "/"
        lost = f"{self.entries:,} of {self.of_entries:,} entries ({self.bytes:,} of {self.of_bytes:,} bytes) of {where}"
        return f"{lost}, of which the source has no file at all" if self.empty else lost


class ExtrasSurvey(Extras):
    """Output of `cpt-relay scan` about the extras, which it lists in `parts` objects; `directory`: device and inode."""

    schema_version: Literal[1]
    side: Literal["extras"]
    daemon_version: str
    parts: Count
    directory: Annotated[str, Field(pattern=r"^[0-9]+:[0-9]+$")]
    in_the_way: Annotated[int, Field(ge=1)] | None = None
    """Of all of these, how many go before what the source has in their place comes."""
    mostly: list[Mostly] | None = None


class WouldDelete(Extras):
    """Contract `report`, `dryRun.deleted`; `where` (`s3://…/`): where there are any."""

    max_delete: Count
    where: str | None = None

    @property
    def refused(self) -> bool:
        """Whether they are too many, so that a transfer that confirms them is refused."""
        return self.entries > self.max_delete

    @classmethod
    def of(cls, extras: Extras, max_delete: int, where: str) -> "WouldDelete":
        """What a transfer would remove that confirms these."""
        return cls(
            files=extras.files,
            directories=extras.directories,
            symlinks=extras.symlinks,
            bytes=extras.bytes,
            digest=extras.digest,
            max_delete=max_delete,
            spared=extras.spared,
            where=where if extras.entries else None,
        )


class Remaining(Document):
    """Confirmed extras that are still there: how many for each reason, and the folder of their list (`s3://…/`)."""

    counts: RemainingCounts
    where: str


class Deleted(Document):
    """Contract `report`, `deleted`: what became of the extras that were confirmed."""

    entries: Count
    bytes: Count
    where: str
    remaining: Remaining | None = None
    kept: Annotated[int, Field(ge=1)] | None = None
    """Of what the transfer has replaced or removed so far, how many entries are kept."""


class Deletion(Document):
    """Contract `deletion`: output of `cpt-relay delete`."""

    schema_version: Literal[1]
    daemon_version: str
    entries: Count
    gone: Count
    bytes: Count
    remaining: RemainingCounts
    remaining_parts: Count
    kept: Annotated[int, Field(ge=1)] | None = None


class RemainingEntry(Document):
    """Contract `remaining-entry`: a line of the list of extras that are still there."""

    path: str
    reason: RemainingReason
    message: str | None = None

    def words(self) -> str:
        """Return path, reason and message on one line, for terminal and mail."""
        return f"{self.path} ({self.reason}{f': {self.message}' if self.message else ''})"


def in_words(counts: RemainingCounts | SparedCounts) -> str:
    """Counts by reason, e.g. `2 changed, 1 not-empty`."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items()))


def _many(count: int, one: str, more: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"
