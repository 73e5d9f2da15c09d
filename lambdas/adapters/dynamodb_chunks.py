"""The chunk table."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.ports import Clock
from lambdas.core.chunk import RANGE_SIZE, Chunk, item_key, range_key, ranges
from lambdas.core.errors import Throttled

BATCH = 25
# Eight batches in flight keep a Lambda of 2 GB busy (1.2 vCPU); the client's adaptive mode slows them when throttled.
WORKERS = 8
# 0.05 s doubling eight times: 12.75 s of back-off before the batch is given back to the state machine's own retry.
_BACK_OFFS = [0.05 * 2**n for n in range(8)]
_OPEN = "#state = :pending AND attempt = :attempt"


class DynamoChunkStore:
    """ChunkStore over DynamoDB."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def put_all(self, chunks: Iterable[Chunk]) -> None:
        """See ChunkStore; at most twice `WORKERS` batches are held in memory."""
        source = iter(chunks)
        running: set[Future[None]] = set()
        with ThreadPoolExecutor(WORKERS) as pool:
            while batch := list(islice(source, BATCH)):
                running.add(pool.submit(self._put_batch, batch))
                if len(running) >= 2 * WORKERS:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
            for future in running:
                future.result()

    def _put_batch(self, chunks: list[Chunk]) -> None:
        rest = self._table.write_batch(chunk.to_document() for chunk in chunks)
        for pause in _BACK_OFFS:
            if not rest:
                return
            self._clock.sleep(pause)
            rest = self._table.write_requests(rest)
        if rest:
            raise Throttled(f"DynamoDB left {len(rest)} chunk items unwritten after {len(_BACK_OFFS)} tries")

    def get(self, transfer_id: str, chunk: int) -> Chunk | None:
        """See ChunkStore."""
        item = self._table.get(**_key(transfer_id, chunk))
        return Chunk.from_document(item) if item else None

    def read(self, transfer_id: str, chunks: int) -> Iterator[Chunk]:
        """See ChunkStore; the ranges of one wave are queried at the same time."""
        numbers = iter(ranges(chunks))
        with ThreadPoolExecutor(WORKERS) as pool:
            while wave := list(islice(numbers, WORKERS)):
                for found in pool.map(lambda number: self._range(transfer_id, number), wave):
                    yield from (chunk for chunk in found if chunk.chunk < chunks)

    def _range(self, transfer_id: str, number: int) -> list[Chunk]:
        first, last = item_key(number * RANGE_SIZE), item_key((number + 1) * RANGE_SIZE - 1)
        items = self._table.query(
            "rangeKey = :range AND itemKey BETWEEN :first AND :last",
            range=range_key(transfer_id, number),
            first=first,
            last=last,
        )
        return [Chunk.from_document(item) for item in items]

    def retry(self, transfer_id: str, chunk: int, attempt: int, not_before: float, reason: str) -> bool:
        """See ChunkStore."""
        return self._change(
            transfer_id,
            chunk,
            "SET attempt = :next, notBefore = :notBefore, reason = :reason",
            attempt=attempt,
            next=attempt + 1,
            notBefore=not_before,
            reason=reason,
        )

    def fail(self, transfer_id: str, chunk: int, attempt: int, reason: str) -> bool:
        """See ChunkStore."""
        return self._change(
            transfer_id,
            chunk,
            "SET #state = :failed, reason = :reason",
            attempt=attempt,
            failed="FAILED",
            reason=reason,
        )

    def _change(self, transfer_id: str, chunk: int, expression: str, **values: Any) -> bool:
        key = _key(transfer_id, chunk)
        return self._table.update(key, expression, _OPEN, {"#state": "state"}, pending="PENDING", **values) is not None


def _key(transfer_id: str, chunk: int) -> dict[str, str]:
    return {"rangeKey": range_key(transfer_id, chunk // RANGE_SIZE), "itemKey": item_key(chunk)}
