from typing import Any

import pytest

from lambdas.handlers.reactions.retry_chunk import retry_chunk
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import SHARED, chunk, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.told import told


def failed(attempt: int = 1, reason: str = "stream-lost") -> BusEvent:
    detail: dict[str, Any] = {
        "schemaVersion": 1,
        "type": "Chunk Failed",
        "transferId": "first",
        "chunk": 0,
        "attempt": attempt,
        "pathId": "pair-1",
        "reason": reason,
        "message": "the lane broke",
    }
    return BusEvent.from_document({"detail-type": "Chunk Failed", "detail": detail})


@pytest.mark.parametrize(("attempt", "delay"), [(1, 1), (2, 2), (3, 4), (4, 8)])
def test_each_attempt_waits_twice_as_long(attempt: int, delay: float) -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.chunks.put_all([chunk(0, attempt=attempt)])
    assert retry_chunk(told(cloud, failed(attempt)), cloud.world) == {"decision": "retried"}
    found = cloud.chunks.get(SHARED, 0)
    assert found is not None
    assert (found.state, found.attempt, found.not_before) == ("PENDING", attempt + 1, 1000 + delay)


@pytest.mark.parametrize(
    ("attempt", "reason"), [(5, "checksum-mismatch"), (2, "source-changed"), (2, "source-unreadable")]
)
def test_poison_is_given_up_with_its_reason(attempt: int, reason: str) -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.chunks.put_all([chunk(0, attempt=attempt)])
    assert retry_chunk(told(cloud, failed(attempt, reason)), cloud.world) == {"decision": "given up"}
    found = cloud.chunks.get(SHARED, 0)
    assert found is not None
    assert (found.state, found.reason) == ("FAILED", f"{reason} after {attempt} attempts")
    assert cloud.metrics.sums == {"ChunksGivenUp": 1}


def test_event_that_comes_twice_or_late_changes_nothing() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.chunks.put_all([chunk(0)])
    retry_chunk(told(cloud, failed(1)), cloud.world)
    before = cloud.chunks.get(SHARED, 0)
    assert retry_chunk(told(cloud, failed(1)), cloud.world) == {"decision": "known"}
    assert cloud.chunks.get(SHARED, 0) == before
    assert cloud.metrics.sums == {"ChunksRetried": 1}


def test_failure_that_no_sender_noted_changes_nothing() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.chunks.put_all([chunk(0)])
    assert retry_chunk(failed(1), cloud.world) == {"decision": "known"}
    assert cloud.chunks.get(SHARED, 0) == chunk(0)


def test_the_reason_is_the_items_and_not_the_events() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.chunks.put_all([chunk(0, attempt=2)])
    told(cloud, failed(2, "stream-lost"))
    assert retry_chunk(failed(2, "source-changed"), cloud.world) == {"decision": "retried"}
