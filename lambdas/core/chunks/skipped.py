"""Entries that an end left out because of a problem of their own; everything beside them is at the destination."""

from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document

# What a report names; the whole list lies beside it.
NAMED = 20
# What an error names: its cause has 1 000 characters in events, and a path may have some hundred.
IN_CAUSE = 5

SkipReason = Literal["source-changed", "source-unreadable", "destination-conflict", "destination-refused"]


class SkippedEntry(Document):
    """Contract `skipped-entry`: a line of the list; of many thousands the later ones lack path and message."""

    entry: Count
    kind: Literal["file", "directory", "symlink", "hardlink", "special"]
    path: Annotated[str, Field(pattern=r"^([A-Za-z0-9._~/-]|%[0-9A-F]{2})+$")] | None = None
    reason: SkipReason
    message: str | None = None

    def words(self) -> str:
        """Return name, reason and message on one line, for terminal and mail."""
        name = self.path if self.path is not None else f"entry {self.entry} of the listing"
        return f"{name} ({self.reason}{f': {self.message}' if self.message else ''})"


class Skipped(Document):
    """The files of one transfer that were left out: how many, the first of them, where the list lies (`s3://…/`)."""

    count: Annotated[int, Field(ge=1)]
    first: list[SkippedEntry] = Field(max_length=NAMED)
    where: str

    def words(self) -> str:
        """Cause of `FilesSkipped`."""
        named = [entry.words() for entry in self.first[:IN_CAUSE]]
        more = f" and {self.count - len(named):,} more" if self.count > len(named) else ""
        entries = "1 entry was" if self.count == 1 else f"{self.count:,} entries were"
        return f"{entries} left out, everything else is delivered: {'; '.join(named)}{more}; all: {self.where}"
