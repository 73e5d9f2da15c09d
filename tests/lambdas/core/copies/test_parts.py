from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.copies.parts import GIB, MIB, MOST_AT_ONCE_BYTES, MOST_PART_BYTES, MOST_PARTS, parts_of, requests_of

LARGEST = 50_000 * 10**9


@given(st.integers(min_value=0, max_value=LARGEST), st.none() | st.sampled_from([1, 5, 8, 64, 128, 1024]))
def test_parts_are_dense_and_within_the_limits_of_s3(size: int, asked_mib: int | None) -> None:
    parts = parts_of(size, asked_mib and asked_mib * MIB)
    if parts is None:
        assert size <= MOST_AT_ONCE_BYTES
        return
    assert 2 <= parts.count <= MOST_PARTS
    assert 5 * MIB <= parts.part_bytes <= MOST_PART_BYTES
    assert parts.part_bytes * (parts.count - 1) < size <= parts.part_bytes * parts.count


@given(st.integers(min_value=6 * MIB, max_value=3 * GIB))
def test_parts_cover_every_byte_once(size: int) -> None:
    parts = parts_of(size, 5 * MIB)
    assert parts is not None
    found = list(parts)
    assert [part.number for part in found] == list(range(1, parts.count + 1))
    assert (found[0].first, found[-1].last) == (0, size - 1)
    assert all(one.last + 1 == other.first for one, other in pairwise(found))
    assert sum(part.size for part in found) == size


@pytest.mark.parametrize(
    ("size", "asked", "part_bytes"),
    [
        (GIB, None, None),
        (GIB + 1, None, 128 * MIB),
        (5 * GIB, 1024 * MIB, 1024 * MIB),
        (5 * MIB, MIB, None),
        (5 * MIB + 1, MIB, 5 * MIB),
        (1250 * GIB, None, 128 * MIB),
        (1251 * GIB, None, 129 * MIB),
    ],
)
def test_larger_objects_have_larger_parts(size: int, asked: int | None, part_bytes: int | None) -> None:
    parts = parts_of(size, asked)
    assert (parts and parts.part_bytes) == part_bytes


def test_an_upload_is_begun_and_completed_too() -> None:
    assert requests_of(GIB) == 1
    assert requests_of(2 * GIB) == 16 + 2
