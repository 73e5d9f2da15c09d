"""The real key function and the real order and pace of writes, replayed against partitions of 1 000 writes/s.

DynamoDB's own hash is not published; any uniform one gives the same spread, and several transfers stand for its chance.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.adapters.dynamodb_chunks import BATCH
from lambdas.core.chunks import plan
from lambdas.core.chunks.chunk import RANGE_SIZE, range_key
from lambdas.core.chunks.pace import (
    NEW_TABLE_PARTITIONS,
    PARTITION_WRITES_PER_SECOND,
    WRITES_PER_SECOND,
    Pace,
    spread,
)
from lambdas.core.chunks.plan import MIB, ListedEntry
from lambdas.core.transfer.partition import Partition

MILLION = 1_000_000
TENTHS = 10
# 10 Gbit/s in bytes per second, the most that one end of a transfer takes.
LINE_RATE = 1.25e9
FILES_PER_SECOND = 35_000


def partition(transfer_id: str, chunk: int) -> int:
    hashed = int.from_bytes(
        blake2b(range_key(Partition(transfer_id), chunk // RANGE_SIZE).encode(), digest_size=8).digest(), "big"
    )
    return hashed * NEW_TABLE_PARTITIONS >> 64


def most_in_a_second(transfer_id: str, writes: Iterable[tuple[float, int]]) -> int:
    """The most writes that one partition gets within a second, wherever the second begins (in tenths)."""
    known: dict[int, int] = {}
    tenths: Counter[tuple[int, int]] = Counter()
    for at, chunk in writes:
        key = chunk // RANGE_SIZE
        if key not in known:
            known[key] = partition(transfer_id, chunk)
        tenths[known[key], int(at * TENTHS)] += 1
    return max(sum(tenths[p, tenth + i] for i in range(TENTHS)) for p, tenth in list(tenths))


def planned(chunks: Iterable[int]) -> Iterator[tuple[float, int]]:
    """When the planner writes which chunk."""
    pace, now, source = Pace(0.0), 0.0, iter(chunks)
    while batch := list(islice(source, BATCH)):
        now += pace.pause(len(batch), now)
        yield from ((now, chunk) for chunk in batch)


@pytest.mark.parametrize("transfer_id", ["first", "backup-2026-11-21"])
def test_a_million_chunks_are_planned_without_a_partition_over_its_limit(transfer_id: str) -> None:
    assert most_in_a_second(transfer_id, planned(spread(range(MILLION)))) <= PARTITION_WRITES_PER_SECOND


def test_in_their_own_order_they_would_be_over_it() -> None:
    assert most_in_a_second("first", planned(range(100_000))) > PARTITION_WRITES_PER_SECOND


def test_a_million_chunks_are_planned_within_ten_minutes() -> None:
    assert MILLION / WRITES_PER_SECOND < 600


def test_the_receiver_checkpoints_10_gbit_in_chunks_of_8_mib_in_their_order() -> None:
    delivered = ((chunk * 8 * MIB / LINE_RATE, chunk) for chunk in range(20_000))
    assert most_in_a_second("first", delivered) <= 150


@pytest.mark.parametrize("size", [1 << 10, 10 << 10, 30 << 10])
@pytest.mark.parametrize("chunk_mib", [1, 8, 64])
def test_the_receiver_checkpoints_35_000_small_files_a_second(size: int, chunk_mib: int) -> None:
    line = b'{"path":"d/f","source":"/d/f","kind":"file","size":%d,"mode":420,"mtimeNs":1,"inode":1}' % size
    entries = (ListedEntry(number, line) for number in range(FILES_PER_SECOND * 2))
    chunks = list(plan.plan_chunks(entries, chunk_mib * MIB))
    delivered, files = [], 0
    for number, chunk in enumerate(chunks):
        files += chunk.files
        delivered.append((files / FILES_PER_SECOND, number))
    assert most_in_a_second("first", delivered) <= PARTITION_WRITES_PER_SECOND


@given(st.integers(0, 5_000), st.integers(1, 40), st.integers(1, 40))
def test_spreading_loses_nothing_and_doubles_nothing(items: int, range_size: int, at_once: int) -> None:
    assert sorted(spread(range(items), range_size, at_once)) == list(range(items))


def test_spreading_holds_one_window_and_no_more() -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    next(spread(endless(), 10, 4))
    assert taken == 40


def test_a_throttled_pace_halves_and_recovers() -> None:
    pace = Pace(0.0, 1000.0)
    pace.throttled()
    assert pace.rate == 500
    for _ in range(10):
        pace.throttled()
    assert pace.rate == 100
    for _ in range(200):
        pace.taken()
    assert pace.rate == 1000


def test_after_a_rest_no_more_than_the_burst_is_written_at_once() -> None:
    pace = Pace(0.0)
    assert pace.pause(500, 100.0) == 0
    assert pace.pause(200, 100.0) == pytest.approx(0.1)
