"""Starts that people add, in memory and over DynamoDB: of two that change them at once one judges again."""

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_added_starts import DynamoAddedStarts
from lambdas.adapters.stores import AddedStartsStore
from tests.lambdas.core.intake.test_added_starts import start
from tests.lambdas.memory.arrivals import MemoryAddedStarts


@pytest.fixture
def store(tables: dict[str, Table]) -> AddedStartsStore:
    return DynamoAddedStarts(tables["arrivals"]) if tables else MemoryAddedStarts()


def test_before_the_first_there_is_none(store: AddedStartsStore) -> None:
    assert (store.get().version, store.get().starts) == (0, [])


def test_whoever_is_slower_writes_nothing(store: AddedStartsStore) -> None:
    before = store.get()
    assert store.put(before.with_(start("fast")))
    assert not store.put(before.with_(start("slow")))
    known = store.get()
    assert [one.name for one in known.starts] == ["fast"]
    assert store.put(known.with_(start("slow")))
    assert not store.put(known.without(["fast"]))
    assert [one.name for one in store.get().starts] == ["fast", "slow"]
    assert store.get().starts == [start("fast"), start("slow")]


def test_when_all_are_removed_there_is_none(store: AddedStartsStore) -> None:
    assert store.put(store.get().with_(start("daily")))
    assert store.put(store.get().without(["daily"]))
    assert store.get().taking("exports", "daily/a") == []
