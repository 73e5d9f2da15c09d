"""Counts over the chunk items of a transfer, gathered one by one."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.documents import Count, Document
from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.report.timeline import Bars, Course, course
from lambdas.core.request.bandwidth import LimitChange

MAX_FAILED_CHUNKS = 100


class FailedChunk(Document):
    """A chunk that was given up."""

    chunk: Count
    attempt: Count
    reason: str


class RetryCause(Document):
    """Attempts beyond the first, by what the chunk failed of last."""

    cause: str
    retries: Count


@dataclass
class Tally:
    """Counts over chunk items, gathered one by one: memory is a counter per second and path, and a bounded picture."""

    bytes: int = 0
    files: int = 0
    chunks: int = 0
    retries: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    failed: list[FailedChunk] = field(default_factory=list)
    first: float | None = None
    last: float | None = None
    arrivals: Arrivals = field(default_factory=Arrivals)
    bars: Bars = field(default_factory=Bars)

    @classmethod
    def of(cls, chunks: Iterable[Chunk], since: float | None = None) -> "Tally":
        """Count all of them, but for those delivered before `since` (Unix time, s)."""
        tally = cls()
        for chunk in chunks:
            if since is None or chunk.delivered_at is None or chunk.delivered_at >= since:
                tally.add(chunk)
        tally.arrivals.settle()
        return tally

    def add(self, chunk: Chunk) -> None:
        """Count one item."""
        if chunk.attempt > 1:
            self.retries += chunk.attempt - 1
            self.causes[_cause(chunk)] += chunk.attempt - 1
        if chunk.state == "FAILED" and len(self.failed) < MAX_FAILED_CHUNKS:
            self.failed.append(FailedChunk(chunk=chunk.chunk, attempt=chunk.attempt, reason=chunk.reason or "unknown"))
        if chunk.state != "DELIVERED":
            return
        self.bytes += chunk.bytes
        self.files += chunk.files
        self.chunks += 1
        self.arrivals.add(chunk)
        self.bars.add(chunk)
        # Chunks of directories and links carry no payload, and wait until the control plane knows all others.
        if chunk.delivered_at is not None and chunk.bytes:
            started = chunk.delivered_at if chunk.started_at is None else chunk.started_at
            self.first = started if self.first is None else min(self.first, started)
            self.last = chunk.delivered_at if self.last is None else max(self.last, chunk.delivered_at)

    @property
    def seconds(self) -> float:
        """First to last payload byte."""
        return 0.0 if self.first is None or self.last is None else self.last - self.first

    def by_path(self) -> dict[str, float]:
        """Bytes delivered on each path."""
        found: defaultdict[str, float] = defaultdict(float)
        for (_, path), count in self.arrivals.per_second.items():
            found[path] += count
        return dict(found)

    def retry_causes(self) -> list[RetryCause]:
        """Most frequent first."""
        return [RetryCause(cause=cause, retries=count) for cause, count in self.causes.most_common()]

    def course(self, limits: list[LimitChange]) -> Course | None:
        """Rates and lanes over time, and how the limit on them changed; None where nothing came."""
        found = course(self.arrivals, self.bars)
        return found.with_limits(limits) if found else None


def _cause(chunk: Chunk) -> str:
    """The failure's name alone: a chunk that was given up has its number of attempts behind it."""
    return (chunk.reason or "unknown").split(" after ", 1)[0]
