"""Transfers as people watch them, read from the tables, and in how many reads."""

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_transfers import DynamoTransferStore
from lambdas.adapters.dynamodb_watched import MOST_RUNNING, DynamoWatchedTransfers
from tests.lambdas import builders
from tests.lambdas.tables import DYNAMODBS

pytestmark = pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)


def begun(tables: dict[str, Table], count: int) -> DynamoWatchedTransfers:
    store = DynamoTransferStore(tables["transfers"])
    for number in range(count):
        assert store.create(builders.transfer(f"t{number:03}"))
    return DynamoWatchedTransfers(tables["transfers"], tables["nodes"])


def test_what_its_ends_have_written_is_read_with_it(tables: dict[str, Table]) -> None:
    watched = begun(tables, 2)
    partition = builders.transfer("t001").partition
    report = {"bytes": 300, "rateMBps": 2.5, "lanes": []}
    tables["transfers"].put({"transferId": partition, "record": "progress#s0", "document": report})
    running = watched.running()
    assert [state.transfer_id for state in running.states] == ["t000", "t001"]
    assert [state.delivered_bytes for state in running.states] == [0, 300]
    one = watched.transfer("t001")
    assert one is not None
    assert (one.delivered_bytes, one.status) == (300, "ACTIVE")
    assert one.moved == running.states[1].moved is not None
    assert watched.transfer("absent") is None
    ones = watched.running("t001")
    assert ([state.transfer_id for state in ones.states], ones.count) == (["t001"], 1)


def test_many_are_three_reads(tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch) -> None:
    watched, count = begun(tables, MOST_RUNNING + 5), 0

    def counted(**_: object) -> None:
        nonlocal count
        count += 1

    tables["transfers"]._client.meta.events.register("before-call.dynamodb", counted)
    running = watched.running()
    assert count == 3
    assert (len(running.states), running.count) == (MOST_RUNNING, MOST_RUNNING + 5)
