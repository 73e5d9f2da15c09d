import json
from typing import Any

import pytest

from lambdas.core.chunks.chunk import RANGE_SIZE
from lambdas.core.chunks.listing import LOT_BYTES, announcement_name, lots, may_be_followed
from lambdas.core.chunks.pace import RANGES_AT_ONCE
from lambdas.core.chunks.plan import MIB, ListedEntry
from tests.lambdas.builders import transfer


@pytest.mark.parametrize(
    ("request_", "followed"),
    [
        ({}, True),
        ({"relays": {"pairs": 2}}, True),
        ({"approval": "required"}, False),
        ({"objective": {"maxCostUsd": 1.0}}, False),
        ({"objective": {"deadlineSeconds": 60}}, False),
        ({"resume": True}, False),
    ],
)
def test_only_where_nothing_needs_the_whole_listing_first(request_: dict[str, Any], followed: bool) -> None:
    assert may_be_followed(transfer(**request_)) == followed


def test_each_execution_announces_under_a_name_of_its_own() -> None:
    names = [
        announcement_name(transfer().model_copy(update={"execution_arn": f"arn:aws:states:x:execution:cpt:{n}"}))
        for n in ("nightly", "nightly.2")
    ]
    assert names == ["announced/nightly.json", "announced/nightly-2.json"]


def files(count: int, size: int, first: int = 0, path: str = "f") -> list[ListedEntry]:
    line = json.dumps({"path": path, "kind": "file", "size": size}).encode()
    return [ListedEntry(first + number, line) for number in range(count)]


def test_the_first_lot_is_small_and_later_ones_are_larger() -> None:
    found = [len(lot) for lot in lots([files(1, 2_000 * RANGE_SIZE * MIB)], MIB)]
    assert found[:3] == [RANGE_SIZE, 2 * RANGE_SIZE, 4 * RANGE_SIZE]
    assert sum(found) == 2_000 * RANGE_SIZE
    assert max(found) <= RANGE_SIZE * RANGES_AT_ONCE


def test_no_lot_waits_for_another_object() -> None:
    taken = []

    def parts() -> Any:
        for number in range(3):
            taken.append(number)
            yield iter(files(5, 10, 5 * number))

    for seen, lot in enumerate(lots(parts(), MIB)):
        assert taken == list(range(seen + 1))
        assert [chunk.files for chunk in lot] == [5]


def test_a_lot_is_bounded_in_memory() -> None:
    for lot in lots([files(60_000, MIB // 2, path="long" * 200)], MIB):
        assert sum(len(chunk.lines) for chunk in lot) <= LOT_BYTES + MIB
