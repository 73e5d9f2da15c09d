"""What a listing says of an object, and what was noted when it was copied."""

import json
from typing import NamedTuple, Self


class Listed(NamedTuple):
    """An object: its key without the prefix, bytes, ETag, when it was written (Unix, s), and its storage class."""

    key: str
    size: int
    etag: str
    modified: float
    storage_class: str = "STANDARD"
    archived: bool = False
    """It has to be restored before it can be read."""

    def line(self) -> bytes:
        """As a line of a unit."""
        return json.dumps(list(self), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Of a line."""
        return cls(*json.loads(line))


class Task(NamedTuple):
    """A line of a unit: what is to be copied, the ETag of what is in its place, and its number in the listing."""

    source: Listed
    there: str | None
    number: int

    def line(self) -> bytes:
        """As it is kept."""
        return json.dumps([*self.source, self.there, self.number], separators=(",", ":")).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Of a line."""
        *source, there, number = json.loads(line)
        return cls(Listed(*source), there, number)


class Noted(NamedTuple):
    """A copy, as it was noted: the object as the source listed it, and what S3 called the copy."""

    key: str
    size: int
    etag: str
    modified: float
    there: str

    def line(self) -> bytes:
        """As it is kept."""
        return json.dumps(list(self), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Of a line."""
        return cls(*json.loads(line)[:5])


def order(key: str) -> bytes:
    """S3 lists keys by their bytes."""
    return key.encode("utf-8", "surrogatepass")
