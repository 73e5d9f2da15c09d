"""How the copying of one object ends, and what of it is kept."""

import json
from typing import NamedTuple, Self

from lambdas.core.chunks.skipped import SkipReason
from lambdas.core.copies.proof import Proof


class NotCopied(Exception):  # noqa: N818 - an outcome, as CptError's are
    """One object is left out; `message` says in words what S3 said of it."""

    def __init__(self, reason: SkipReason, message: str) -> None:
        self.reason, self.message = reason, message
        super().__init__(f"{reason}: {message}")


class Taken(Exception):  # noqa: N818
    """The destination is not what the condition of a write says: somebody else has written there, or we have."""


class UploadGone(Exception):  # noqa: N818
    """S3 does not know the upload, or not with these parts: it was completed, aborted, or is another one's."""


class Result(NamedTuple):
    """A line of what a unit has done: a copy, or why there is none.

    `there`: the copy's ETag; None where the object is left out. `number`: in the listing.
    """

    key: str
    size: int
    etag: str
    modified: float
    there: str | None
    number: int
    proof: Proof | None = None
    reason: SkipReason | None = None
    message: str | None = None

    def line(self) -> bytes:
        """As it is kept; its beginning is that of a note."""
        return json.dumps(list(self), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Of a line."""
        return cls(*json.loads(line))
