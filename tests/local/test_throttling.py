"""A table that refuses and leaves items unwritten, by count: the planner's own writer gets everything in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lambdas.adapters import clients
from lambdas.adapters.clock import SystemClock
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_chunks import BATCH, DynamoChunkStore
from lambdas.core.chunks import chunk_life
from lambdas.core.errors import Throttled
from local.cloud import LocalCloud
from local.config import Fault, LocalConfig
from tests.lambdas import builders, tables
from tests.local.assembly import HOME

CHUNKS = 20 * BATCH


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    state: Path = tmp_path_factory.mktemp("throttling")
    with LocalCloud(LocalConfig.model_validate({"port": 0, "iam": False}), state, None) as running:
        yield running


@pytest.fixture
def chunks(cloud: LocalCloud) -> Table:
    return tables.make(cloud.client("dynamodb", HOME))["chunks"]


def spoil(cloud: LocalCloud, operation: str, **fault: Any) -> None:
    cloud.spoil(Fault.model_validate({"operation": operation, "region": HOME, "table": "chunks", **fault}))


@pytest.fixture
def patient(cloud: LocalCloud, chunks: Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """The same table by the Lambdas' client, which asks again."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    clients._client.cache_clear()
    yield Table(clients.dynamodb(HOME), chunks.name)
    clients._client.cache_clear()


def test_batches_that_are_throttled_or_written_in_part_are_completed(cloud: LocalCloud, patient: Table) -> None:
    spoil(cloud, "BatchWriteItem", after=2, count=3, code="UnprocessedItems", available=10)
    spoil(cloud, "BatchWriteItem", after=8, count=2, code="ProvisionedThroughputExceededException")
    spoil(cloud, "BatchWriteItem", after=12, count=1, code="UnprocessedItems", available=0)
    store = DynamoChunkStore(patient, SystemClock())
    store.put_all(builders.chunk(number) for number in range(CHUNKS))
    assert [chunk.chunk for chunk in store.read(builders.SHARED, builders.plan(chunks=CHUNKS))] == list(range(CHUNKS))


def test_a_throttled_decision_is_an_error_that_the_state_machine_retries(cloud: LocalCloud, chunks: Table) -> None:
    store = DynamoChunkStore(chunks, SystemClock())
    store.put_all([builders.chunk(0)])
    spoil(cloud, "UpdateItem", code="ProvisionedThroughputExceededException")
    with pytest.raises(Throttled, match="DynamoDB table chunks"):
        store.change(builders.SHARED, 0, chunk_life.retry(1, 0.0, "stream-lost"))
    assert store.change(builders.SHARED, 0, chunk_life.retry(1, 0.0, "stream-lost"))
