"""What the chunk items of a transfer say, counted one by one."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from lambdas.core.arrivals import DIRECT, Arrivals
from lambdas.core.chunk import Chunk
from lambdas.core.documents import Count, Document

MAX_FAILED_CHUNKS = 100


class FailedChunk(Document):
    """A chunk that was given up."""

    chunk: Count
    attempt: Count
    reason: str


class Bin(Document):
    """Bytes delivered on a path within one second, counted from the first byte."""

    second: Count
    path_id: str
    bytes: Count


@dataclass
class Tally:
    """What the chunk items say, gathered one by one: memory is two counters per second and path."""

    bytes: int = 0
    files: int = 0
    chunks: int = 0
    retries: int = 0
    failed: list[FailedChunk] = field(default_factory=list)
    first: float | None = None
    last: float | None = None
    per_second: Counter[tuple[int, str]] = field(default_factory=Counter)
    arrivals: Arrivals = field(default_factory=Arrivals)

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> "Tally":
        """Count all of them."""
        tally = cls()
        for chunk in chunks:
            tally.add(chunk)
        tally.arrivals.settle()
        return tally

    def add(self, chunk: Chunk) -> None:
        """Count one item."""
        self.retries += chunk.attempt - 1
        if chunk.state == "FAILED" and len(self.failed) < MAX_FAILED_CHUNKS:
            self.failed.append(FailedChunk(chunk=chunk.chunk, attempt=chunk.attempt, reason=chunk.reason or "unknown"))
        if chunk.state != "DELIVERED":
            return
        self.bytes += chunk.bytes
        self.files += chunk.files
        self.chunks += 1
        self.arrivals.add(chunk)
        if chunk.delivered_at is not None:
            started = chunk.delivered_at if chunk.started_at is None else chunk.started_at
            self.first = started if self.first is None else min(self.first, started)
            self.last = chunk.delivered_at if self.last is None else max(self.last, chunk.delivered_at)
            self.per_second[int(chunk.delivered_at), chunk.path_id or DIRECT] += chunk.bytes

    @property
    def seconds(self) -> float:
        """First to last payload byte."""
        return 0.0 if self.first is None or self.last is None else self.last - self.first

    def timeline(self) -> list[Bin]:
        """Bins since the first byte, by second and path."""
        start = int(self.first or 0)
        return [
            Bin(second=max(second - start, 0), path_id=path, bytes=count)
            for (second, path), count in sorted(self.per_second.items())
            if count
        ]
