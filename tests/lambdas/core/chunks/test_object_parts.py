"""Chunks that become parts of objects: never too small, never too many."""

import json
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.chunks import object_parts, plan
from lambdas.core.chunks.plan import MIB, ListedEntry
from lambdas.core.ends.bucket import LEAST_PART_BYTES, MOST_PART_BYTES, MOST_PARTS
from lambdas.core.errors import SurveyProblem
from tests.lambdas.buckets import from_bucket, to_bucket
from tests.lambdas.builders import transfer

TIB = 1 << 40


def listed(*sizes: int) -> list[ListedEntry]:
    numbers = count()
    lines = (json.dumps({"path": f"f{at}", "kind": "file", "size": size}) for at, size in enumerate(sizes))
    return [ListedEntry(next(numbers), line.encode()) for line in lines]


@given(st.integers(0, 39 * TIB), st.sampled_from([1 << power for power in range(20, 31)]))
def test_the_largest_file_has_parts_that_s3_takes(largest: int, usual: int) -> None:
    found = object_parts.part_bytes(usual, largest)
    assert LEAST_PART_BYTES <= found <= MOST_PART_BYTES
    assert largest <= found * MOST_PARTS
    assert found.bit_count() == 1, "a part is a subtree of the file's digest"
    assert found == max(usual, 8 * MIB) or largest > found // 2 * MOST_PARTS, "as small as may be"


def test_only_chunks_that_go_to_a_bucket_are_parts() -> None:
    assert object_parts.become_parts(to_bucket())
    assert not object_parts.become_parts(from_bucket())
    assert not object_parts.become_parts(transfer())
    list(plan.plan_chunks(listed(TIB), 64 * MIB, object_parts.check_of(from_bucket(), 64 * MIB)))


@pytest.mark.parametrize(
    ("chunk_mib", "size", "words"),
    [
        (8, 8 * MIB * MOST_PARTS + 1, "in parts of 8 MiB it would have more than 10,000; write 16 as $.chunkSizeMiB"),
        (8, 20 * TIB, "in parts of 8 MiB it would have more than 10,000; leave $.chunkSizeMiB out"),
        (64, 40 * TIB, "an object has 10,000 parts of 4096 MiB at most; leave it out"),
    ],
)
def test_a_file_of_too_many_parts_is_refused_with_what_would_do(chunk_mib: int, size: int, words: str) -> None:
    entries = listed(8 * MIB * MOST_PARTS, size)
    with pytest.raises(SurveyProblem) as error:
        list(plan.plan_chunks(entries, chunk_mib * MIB, object_parts.check_of(to_bucket(), chunk_mib * MIB)))
    assert str(error.value) == f"$.source.paths: 'f1' has {size} bytes: {words}"


@pytest.mark.parametrize(("mib", "expected"), [(8, 16), (16, 16), (32, 8), (64, 4), (1024, 4)])
def test_parts_that_are_under_way_fit_into_memory(mib: int, expected: int) -> None:
    assert object_parts.lanes(to_bucket(), 32, mib * MIB) == expected


def test_what_is_read_from_a_bucket_has_many_lanes_and_what_moves_between_machines_as_many_as_it_wants() -> None:
    assert [object_parts.lanes(from_bucket(), usual, 64 * MIB) for usual in (2, 32)] == [16, 32]
    assert object_parts.lanes(transfer(), 2, 64 * MIB) == 2


def test_parts_are_small_unless_the_request_asks_for_others() -> None:
    asked = to_bucket(chunkSizeMiB=64)
    found = [object_parts.usual_bytes(one, 64 * MIB) for one in (to_bucket(), asked, from_bucket(), transfer())]
    assert found == [16 * MIB, 64 * MIB, 64 * MIB, 64 * MIB]
