"""The planner's pace and order of writing chunk items, so that no partition of the table gets too many at once.

A partition takes 1 000 writes/s, a new on-demand table has 4 of them, and an item's partition follows from the hash of
its range key. Written in order, a range of 128 chunks would hit one partition within milliseconds.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from lambdas.core.chunks.chunk import RANGE_SIZE

PARTITION_WRITES_PER_SECOND = 1_000.0
NEW_TABLE_PARTITIONS = 4
# Half of what a new table takes: hashing gives a partition up to one and a half times its share of 128 ranges.
WRITES_PER_SECOND = NEW_TABLE_PARTITIONS * PARTITION_WRITES_PER_SECOND / 2
# At once from rest: a plan of less than 500 chunks does not wait, and a first second of 2 500 is still below 4 000.
BURST_WRITES = 500
# 128 ranges of 128 chunks are written at the same time: 16 384 items, about 30 MB.
RANGES_AT_ONCE = 128
SLOWER, FASTER = 0.5, 1.02
# 200 writes/s: in a table that takes less, the batch's own back-off ends and the state machine tries again.
LEAST_SHARE = 0.1

Item = TypeVar("Item")


def spread(items: Iterable[Item], range_size: int = RANGE_SIZE, at_once: int = RANGES_AT_ONCE) -> Iterator[Item]:
    """The same items, neighbours far apart: `at_once` ranges are taken together, one item of each in turn."""
    source = iter(items)
    while window := list(islice(source, range_size * at_once)):
        for place in range(range_size):
            yield from window[place::range_size]


class Pace:
    """Allows `rate` writes per second (1/s): half as many after a throttled batch, 2 % more after any other."""

    def __init__(self, now: float, rate: float = WRITES_PER_SECOND) -> None:
        self.rate = self._most = rate
        self._free_at = now

    def pause(self, writes: int, now: float) -> float:
        """Seconds to wait before so many writes."""
        self._free_at = max(self._free_at, now) + writes / self.rate
        return max(self._free_at - BURST_WRITES / self._most - now, 0.0)

    def throttled(self) -> None:
        """The table left some of a batch unwritten."""
        self.rate = max(self.rate * SLOWER, self._most * LEAST_SHARE)

    def taken(self) -> None:
        """The table took a whole batch."""
        self.rate = min(self.rate * FASTER, self._most)
