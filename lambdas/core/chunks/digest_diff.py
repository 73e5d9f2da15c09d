"""Comparison of the two ends' digests, in memory bounded by how far their orders differ."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple


class Digest(NamedTuple):
    """A whole file's BLAKE3, lower-case hex."""

    entry: int
    digest: str


class Comparison(NamedTuple):
    """Files that agree, entries that differ, entries that only one end has; at most 20 of the latter two are named."""

    equal: int
    different: list[int]
    sender_only: list[int]
    receiver_only: list[int]

    @property
    def clean(self) -> bool:
        """Nothing differs or is missing."""
        return not (self.different or self.sender_only or self.receiver_only)


NAMED = 20
# Both ends list their files in order: so many that wait for their twin mean that the other end has none. About 250 MB.
MOST_WAITING = 1_000_000


def compare(sender: Iterator[Digest], receiver: Iterator[Digest]) -> Comparison:
    """Pair the two streams by entry; an entry that repeats with the same digest counts once.

    It ends early, and finds what is missing, once more than `MOST_WAITING` entries wait for their twin.
    """
    waiting: tuple[dict[int, str], dict[int, str]] = ({}, {})
    equal = 0
    different: list[int] = []
    for both in zip_longest(sender, receiver):
        for side, line in enumerate(both):
            if line is None:
                continue
            other = waiting[1 - side].pop(line.entry, None)
            if other is None:
                waiting[side][line.entry] = line.digest
            elif other == line.digest:
                equal += 1
            elif len(different) < NAMED:
                different.append(line.entry)
        if len(waiting[0]) + len(waiting[1]) > MOST_WAITING:
            break
    return Comparison(equal, different, sorted(waiting[0])[:NAMED], sorted(waiting[1])[:NAMED])
