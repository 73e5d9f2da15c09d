"""A plan says what it cannot know yet only while it is open."""

import pytest
from pydantic import ValidationError

from lambdas.core.chunks.transfer_plan import TransferPlan
from tests.lambdas.builders import plan


@pytest.mark.parametrize(
    ("chunks", "size", "first", "ranges"), [(0, 10, 3, []), (1, 10, 3, [3]), (10, 10, 0, [0]), (11, 10, 7, [7, 8])]
)
def test_ranges_hold_every_chunk_once(chunks: int, size: int, first: int, ranges: list[int]) -> None:
    found = plan().model_copy(update={"chunks": chunks, "range_size": size, "first_range": first})
    assert list(found.ranges) == ranges


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"open": True, "lastPhaseChunks": 1}, "while the plan is open it is 0"),
        ({"open": True}, "while the plan is open it is not known"),
        ({"listing": None}, "a plan that is whole names it"),
    ],
)
def test_what_contradicts_being_open_or_whole_is_refused(changes: dict[str, object], why: str) -> None:
    document = {**plan(chunks=2).to_document(), "lastPhaseChunks": 0, **changes}
    with pytest.raises(ValidationError, match=why):
        TransferPlan.from_document({name: value for name, value in document.items() if value is not None})
