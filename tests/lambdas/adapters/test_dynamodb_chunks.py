"""The chunk store in memory, over the emulator and over DynamoDB Local; and tables that do not take all at once."""

import json
from io import BytesIO
from threading import Lock
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_chunks import BATCH, STILL_THERE, DynamoChunkStore, update_of
from lambdas.adapters.stores import ChunkStore
from lambdas.core.chunks import chunk_life
from lambdas.core.chunks.chunk import RANGE_SIZE, RANGES_PER_RUN, Finish, range_key
from lambdas.core.chunks.chunk_life import RULES
from lambdas.core.chunks.pace import BURST_WRITES, WRITES_PER_SECOND
from lambdas.core.errors import Throttled
from tests.lambdas import builders
from tests.lambdas.clock import FakeClock
from tests.lambdas.core.chunks.test_chunk_life import GOLDEN, change
from tests.lambdas.memory.stores import MemoryChunkStore
from tests.lambdas.tables import DYNAMODBS


@pytest.fixture
def chunks(tables: dict[str, Table]) -> ChunkStore:
    return DynamoChunkStore(tables["chunks"], FakeClock()) if tables else MemoryChunkStore()


def test_chunk_items_are_read_in_order_over_ranges(chunks: ChunkStore) -> None:
    chunks.put_all(builders.chunk(number) for number in range(300))
    assert [chunk.chunk for chunk in chunks.read(builders.SHARED, builders.plan(chunks=300))] == list(range(300))
    assert [chunk.chunk for chunk in chunks.read(builders.SHARED, builders.plan(chunks=130))] == list(range(130))
    assert chunks.get(builders.SHARED, 299) == builders.chunk(299)
    assert chunks.get(builders.SHARED, 300) is None


def test_plans_of_one_transfer_do_not_meet(chunks: ChunkStore) -> None:
    later = builders.plan(chunks=3).model_copy(update={"first_range": RANGES_PER_RUN})
    first = RANGES_PER_RUN * RANGE_SIZE
    chunks.put_all(builders.chunk(number, state="DELIVERED") for number in range(130))
    chunks.put_all(builders.chunk(first + number) for number in range(3))
    assert [chunk.chunk for chunk in chunks.read(builders.SHARED, later)] == [first, first + 1, first + 2]
    assert {chunk.state for chunk in chunks.read(builders.SHARED, builders.plan(chunks=130))} == {"DELIVERED"}


def test_who_finishes_is_found_beside_the_chunks_and_forgotten(chunks: ChunkStore, tables: dict[str, Table]) -> None:
    chunks.put_all(builders.chunk(number, state="DELIVERED") for number in range(3))
    assert chunks.finish(builders.SHARED) is None
    if isinstance(chunks, MemoryChunkStore):
        chunks.finishes[builders.SHARED] = Finish(seat="s1", epoch=65536, receiver="r2")
    else:
        key = {"rangeKey": range_key(builders.SHARED, 0), "itemKey": "finish"}
        tables["chunks"].put({**key, "seat": "s1", "epoch": 65536, "receiver": "r2", "expiresAt": 9})
    assert chunks.finish(builders.SHARED) == Finish(seat="s1", epoch=65536, receiver="r2")
    assert len(list(chunks.read(builders.SHARED, builders.plan(chunks=3)))) == 3
    chunks.forget_finish(builders.SHARED)
    assert chunks.finish(builders.SHARED) is None
    assert len(list(chunks.read(builders.SHARED, builders.plan(chunks=3)))) == 3


def test_retry_happens_once_per_attempt(chunks: ChunkStore) -> None:
    chunks.put_all([builders.chunk(0)])
    assert chunks.change(builders.SHARED, 0, chunk_life.retry(1, 12.5, "stream-lost"))
    assert not chunks.change(builders.SHARED, 0, chunk_life.retry(1, 12.5, "stream-lost"))
    found = chunks.get(builders.SHARED, 0)
    assert found is not None
    assert (found.state, found.attempt, found.not_before, found.reason) == ("PENDING", 2, 12.5, "stream-lost")


def test_delivered_chunk_neither_retries_nor_fails(chunks: ChunkStore) -> None:
    chunks.put_all([builders.chunk(0, state="DELIVERED")])
    assert not chunks.change(builders.SHARED, 0, chunk_life.retry(1, 0.0, "stream-lost"))
    assert not chunks.change(builders.SHARED, 0, chunk_life.give_up(1, "poison"))


def test_failed_chunk_keeps_its_reason(chunks: ChunkStore) -> None:
    chunks.put_all([builders.chunk(0)])
    assert chunks.change(builders.SHARED, 0, chunk_life.give_up(1, "source-changed after 2 attempts"))
    found = chunks.get(builders.SHARED, 0)
    assert found is not None
    assert (found.state, found.reason) == ("FAILED", "source-changed after 2 attempts")


def test_chunk_that_has_no_item_is_not_made_by_a_change(chunks: ChunkStore) -> None:
    assert not chunks.change(builders.SHARED, 7, chunk_life.retry(1, 0.0, "stream-lost"))
    assert chunks.get(builders.SHARED, 7) is None


@pytest.mark.parametrize("name", RULES)
def test_the_item_after_a_change_is_what_the_machine_says(chunks: ChunkStore, name: chunk_life.ChangeName) -> None:
    chunks.put_all([builders.chunk(0, attempt=2)])
    wanted = chunk_life.after(builders.chunk(0, attempt=2), change(name, 2))
    assert chunks.change(builders.SHARED, 0, change(name, 2))
    assert chunks.get(builders.SHARED, 0) == wanted


@pytest.mark.parametrize("name", RULES)
def test_the_expressions_are_those_that_the_contract_prescribes_for_the_daemon_too(name: chunk_life.ChangeName) -> None:
    assert GOLDEN["guard"] == STILL_THERE
    assert GOLDEN["changes"][name]["update"] == update_of(change(name))


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_a_lease_goes_to_the_later_epoch_only_and_again_to_its_holder(tables: dict[str, Table]) -> None:
    def lease(owner: str, epoch: int, seat: str = "s0", retired: tuple[str, int] | None = None) -> bool:
        rule, key = GOLDEN["lease"], {"rangeKey": "first#0000000", "itemKey": "lease"}
        names, values = (
            rule["names"],
            {"owner": owner, "epoch": epoch, "seat": seat, "settled": False, "expiresAt": 1_802_793_600},
        )
        guard = rule["guard"] + (rule["takeover"] if retired else "")
        over = dict(zip(("retiredSeat", "retiredEpoch"), retired, strict=True)) if retired else {}
        return tables["chunks"].update(key, rule["update"], guard, names, **values, **over) is not None

    assert lease("a", 1)
    assert lease("a", 1)
    assert not lease("b", 1)
    assert lease("b", 2)
    assert not lease("a", 1)
    assert not lease("a", 2)
    assert not lease("c", 9, "s1"), "another seat's, however late"
    assert not lease("c", 9, "s1", ("s0", 1)), "a later process than the retired ones has it"
    assert lease("c", 9, "s1", ("s0", 2))
    assert not lease("b", 10), "a retired seat does not come back"


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_a_lease_of_before_there_were_seats_goes_to_a_later_process(tables: dict[str, Table]) -> None:
    key, rule = {"rangeKey": "first#0000000", "itemKey": "lease"}, GOLDEN["lease"]
    before = {"owner": "a", "epoch": 1, "expiresAt": 1_802_793_600}
    assert tables["chunks"].update(
        key,
        "SET #owner = :owner, #epoch = :epoch, expiresAt = :expiresAt",
        None,
        {"#owner": "owner", "#epoch": "epoch"},
        **before,
    )
    assert tables["chunks"].update(
        key,
        rule["update"],
        rule["guard"],
        rule["names"],
        **{**before, "epoch": 2, "owner": "b"},
        seat="s0",
        settled=False,
    )


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
@pytest.mark.parametrize("name", ["lease", "finish"])
def test_what_a_seat_holds_another_one_takes_only_where_the_first_is_retired(
    tables: dict[str, Table], name: str
) -> None:
    def take(seat: str, epoch: int, retired: tuple[str, int] | None = None) -> bool:
        rule, key = GOLDEN[name], {"rangeKey": "first#0000000", "itemKey": name}
        guard = rule["guard"] + (rule["takeover"] if retired else "")
        own: dict[str, Any] = {"owner": f"{seat}-{epoch}", "settled": False} if name == "lease" else {"receiver": "r0"}
        values = {"seat": seat, "epoch": epoch, "expiresAt": 1_802_793_600, **own}
        values |= {"retiredSeat": retired[0], "retiredEpoch": retired[1]} if retired else {}
        return tables["chunks"].update(key, rule["update"], guard, rule["names"], **values) is not None

    assert take("s1", 5)
    assert not take("s0", 9)
    assert not take("s0", 9, ("s2", 99))
    assert not take("s0", 9, ("s1", 4))
    assert take("s1", 6)
    assert take("s0", 2, ("s1", 6))
    assert not take("s1", 7)
    assert take("s0", 3)


class BusyTable(Table):
    """Leaves so many items of the next whole batches unwritten, as DynamoDB does when a partition is busy."""

    def __init__(self, table: Table, unwritten: list[int]) -> None:
        super().__init__(table._client, table.name)
        self._unwritten = unwritten
        self._counting = Lock()
        self.batches = 0

    def write_requests(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        with self._counting:
            self.batches += 1
            left = self._unwritten.pop(0) if self._unwritten and len(requests) == BATCH else 0
        taken = requests[left:]
        return [*requests[:left], *(super().write_requests(taken) if taken else [])]


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_items_that_a_busy_table_left_unwritten_are_written_in_the_end(tables: dict[str, Table]) -> None:
    busy = BusyTable(tables["chunks"], [25, 0, 7, 25, 1, 24])
    store = DynamoChunkStore(busy, FakeClock())
    store.put_all(builders.chunk(number) for number in range(200))
    assert [chunk.chunk for chunk in store.read(builders.SHARED, builders.plan(chunks=200))] == list(range(200))
    assert busy.batches == 200 / BATCH + 5


@pytest.mark.parametrize("kind", ["dynamodb"], indirect=True)
def test_a_throttled_planner_slows_down(tables: dict[str, Table]) -> None:
    def seconds(unwritten: list[int]) -> float:
        clock = FakeClock()
        store = DynamoChunkStore(BusyTable(tables["chunks"], unwritten), clock)
        store.put_all(builders.chunk(number) for number in range(2000))
        return clock.time - 1000.0

    assert seconds([]) == pytest.approx((2000 - BURST_WRITES) / WRITES_PER_SECOND)
    assert seconds([5] * 20) > 2 * seconds([])


@pytest.mark.parametrize("kind", ["dynamodb"], indirect=True)
def test_a_table_that_takes_nothing_is_given_back_to_the_state_machine(tables: dict[str, Table]) -> None:
    clock = FakeClock()
    store = DynamoChunkStore(BusyTable(tables["chunks"], [25] * 100), clock)
    with pytest.raises(Throttled, match="25 chunk items unwritten after 8 tries"):
        store.put_all(builders.chunk(number) for number in range(25))
    assert clock.time == pytest.approx(1000.0 + 12.75)


@pytest.mark.parametrize("kind", ["dynamodb"], indirect=True)
def test_batches_that_are_refused_whole_are_repeated_by_the_client(tables: dict[str, Table]) -> None:
    refusals = iter(range(2))

    def refuse(request: Any, **_: Any) -> AWSResponse | None:
        if next(refusals, None) is None:
            return None
        body = json.dumps({"__type": "ProvisionedThroughputExceededException", "message": "slow down"}).encode()
        raw: Any = BytesIO(body)
        raw.stream = lambda **_: iter([body])
        return AWSResponse(request.url, 400, HTTPHeaders(), raw)

    client: Any = tables["chunks"]._client
    client.meta.events.register_first("before-send.dynamodb.BatchWriteItem", refuse)
    store = DynamoChunkStore(tables["chunks"], FakeClock())
    store.put_all(builders.chunk(number) for number in range(50))
    assert len(list(store.read(builders.SHARED, builders.plan(chunks=50)))) == 50
    assert next(refusals, None) is None
