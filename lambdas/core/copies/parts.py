"""How one object is copied: at once, or by parts of an upload."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MIB = 1 << 20
GIB = 1 << 30
LEAST_PART_BYTES = 5 * MIB
MOST_PART_BYTES = 5 * GIB
MOST_PARTS = 10_000
MOST_AT_ONCE_BYTES = 5 * GIB
"""What CopyObject takes at most."""
PART_BYTES = 128 * MIB
# S3 copies some 85 MB/s by one request: larger objects wait for nothing but that.
BY_PARTS_BYTES = 1 * GIB


class Part(NamedTuple):
    """One part: its number, from 1 without gaps, and its first and last byte."""

    number: int
    first: int
    last: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Parts:
    """The parts of an object of `size` bytes: all have `part_bytes` but the last."""

    size: int
    part_bytes: int

    def __iter__(self) -> Iterator[Part]:
        """The parts, in their order."""
        for number, first in enumerate(range(0, self.size, self.part_bytes), 1):
            yield Part(number, first, min(first + self.part_bytes, self.size) - 1)

    @property
    def count(self) -> int:
        """How many there are."""
        return -(-self.size // self.part_bytes)


def parts_of(size: int, asked_bytes: int | None = None) -> Parts | None:
    """The parts of an object, or None where one request copies it.

    `asked_bytes`: the size of a part that the request names; what is larger goes by parts then. Parts grow where an
    object would have more than S3 takes.
    """
    least = max(asked_bytes or BY_PARTS_BYTES, LEAST_PART_BYTES)
    if size <= min(least, MOST_AT_ONCE_BYTES):
        return None
    wanted = max(asked_bytes or PART_BYTES, LEAST_PART_BYTES, -(-size // MOST_PARTS))
    # Whole MiB: S3 needs none, people read them.
    return Parts(size, min(-(-wanted // MIB) * MIB, MOST_PART_BYTES))


def requests_of(size: int, asked_bytes: int | None = None) -> int:
    """How many copies an object takes: what a unit is measured by."""
    parts = parts_of(size, asked_bytes)
    return 1 if parts is None else parts.count + 2
