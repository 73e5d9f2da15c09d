"""The chunk table."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.ports import Clock
from lambdas.core.chunks.chunk import (
    FINISH_KEY,
    FINISH_RANGE,
    Chunk,
    Finish,
    item_key,
    range_key,
    range_size,
)
from lambdas.core.chunks.chunk_life import Change
from lambdas.core.chunks.pace import Pace, spread
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.errors import Throttled
from lambdas.core.transfer.partition import Partition

BATCH = 25
# Eight batches in flight keep a Lambda of 2 GB busy (1.2 vCPU); the client's adaptive mode slows them when throttled.
WORKERS = 8
# 0.05 s doubling eight times: 12.75 s of back-off before the batch is given back to the state machine's own retry.
_BACK_OFFS = [0.05 * 2**n for n in range(8)]
# The one guard of every change: the chunk has neither moved on nor ended.
STILL_THERE = "#state = :pending AND attempt = :attempt"
_NAMES = {"#state": "state"}


class DynamoChunkStore:
    """ChunkStore over DynamoDB."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def put_all(self, chunks: Iterable[Chunk]) -> None:
        """See ChunkStore; one window of `pace.spread` and twice `WORKERS` batches are held in memory."""
        source = spread(chunks)
        pace = Pace(self._clock.monotonic())
        running: set[Future[bool]] = set()
        with ThreadPoolExecutor(WORKERS) as pool:
            while batch := list(islice(source, BATCH)):
                if pause := pace.pause(len(batch), self._clock.monotonic()):
                    self._clock.sleep(pause)
                running.add(pool.submit(self._put_batch, batch))
                done = {future for future in running if future.done()}
                if len(running) - len(done) >= 2 * WORKERS:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                running -= done
                for future in done:
                    pace.taken() if future.result() else pace.throttled()
            for future in running:
                future.result()

    def _put_batch(self, chunks: list[Chunk]) -> bool:
        """Return whether the table took all at once."""
        rest = self._table.write_batch(chunk.to_document() for chunk in chunks)
        at_once = not rest
        for pause in _BACK_OFFS:
            if not rest:
                return at_once
            self._clock.sleep(pause)
            rest = self._table.write_requests(rest)
        if rest:
            raise Throttled(f"DynamoDB left {len(rest)} chunk items unwritten after {len(_BACK_OFFS)} tries")
        return at_once

    def get(self, partition: Partition, chunk: int) -> Chunk | None:
        """See ChunkStore."""
        item = self._table.get(**_key(partition, chunk))
        return Chunk.from_document(item) if item else None

    def read(self, partition: Partition, plan: TransferPlan) -> Iterator[Chunk]:
        """See ChunkStore; the ranges of one wave are queried at the same time."""
        numbers, end = iter(plan.ranges), plan.first_range * plan.range_size + plan.chunks
        with ThreadPoolExecutor(WORKERS) as pool:
            while wave := list(islice(numbers, WORKERS)):
                for found in pool.map(lambda number: self._range(partition, number), wave):
                    yield from (chunk for chunk in found if chunk.chunk < end)

    def finish(self, partition: Partition) -> Finish | None:
        """See ChunkStore."""
        found = self._table.query(
            "rangeKey = :range AND itemKey = :finish", range=range_key(partition, FINISH_RANGE), finish=FINISH_KEY
        )
        return next((Finish.told(item) for item in found), None)

    def forget_finish(self, partition: Partition) -> None:
        """See ChunkStore."""
        self._table.delete(rangeKey=range_key(partition, FINISH_RANGE), itemKey=FINISH_KEY)

    def _range(self, partition: Partition, number: int) -> list[Chunk]:
        size = range_size(partition)
        first, last = item_key(number * size), item_key((number + 1) * size - 1)
        items = self._table.query(
            "rangeKey = :range AND itemKey BETWEEN :first AND :last",
            range=range_key(partition, number),
            first=first,
            last=last,
        )
        return [Chunk.from_document(item) for item in items]

    def change(self, partition: Partition, chunk: int, change: Change) -> bool:
        """See ChunkStore."""
        new = change.document
        values = {_placeholder(name): value for name, value in new.items()}
        held = {"pending": "PENDING", "attempt": change.attempt}
        key = _key(partition, chunk)
        return self._table.update(key, update_of(change), STILL_THERE, _NAMES, **held, **values) is not None


def update_of(change: Change) -> str:
    """The update expression: each attribute by its own name, as `contracts/chunk-changes.json` has them."""
    parts = (f"{'#state' if name == 'state' else name} = :{_placeholder(name)}" for name in change.document)
    return "SET " + ", ".join(parts)


def _placeholder(name: str) -> str:
    return "nextAttempt" if name == "attempt" else name


def _key(partition: Partition, chunk: int) -> dict[str, str]:
    return {"rangeKey": range_key(partition, chunk // range_size(partition)), "itemKey": item_key(chunk)}
