"""Traffic from a known schedule: the chunk items that a transfer leaves when its rates are exactly these."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from random import Random

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.learning.arrivals import Arrivals
from tests.lambdas.builders import chunk

MB = 10**6


@dataclass
class _Lane:
    path_id: str
    lane: int
    started_at: float
    number: int
    left: float


@dataclass
class Traffic:
    """`rates`: MB/s of each path unhindered; `joins`: seconds at which it begins; `ceiling`: MB/s of all together.

    Where the paths could do more than the ceiling each gets its share. Lanes pull chunks in order; the bytes of a
    chunk are on disk up to `latest_sync` seconds after they came. From second `falls_at` on the `lasting` rates and
    ceiling hold. All files have `file_mb`.
    """

    rates: Mapping[str, float]
    joins: Mapping[str, float]
    size_mb: float
    chunk_mb: float = 8.0
    lanes: int = 1
    ceiling: float = inf
    latest_sync: float = 0.5
    seed: int = 0
    begin: float = 1_000_000.3
    falls_at: float = inf
    lasting: Mapping[str, float] = field(default_factory=dict)
    lasting_ceiling: float = inf
    file_mb: float = 8.0
    _chunks: list[Chunk] = field(default_factory=list)

    def chunks(self) -> list[Chunk]:
        """All items, delivered, in order of their numbers."""
        random, number, now = Random(self.seed), 0, 0.0
        active: list[_Lane] = []
        waiting = sorted(self.joins, key=lambda path: self.joins[path])
        total = max(int(self.size_mb / self.chunk_mb), 1)
        while number < total or active:
            while waiting and self.joins[waiting[0]] <= now and number < total:
                path = waiting.pop(0)
                for index in range(self.lanes):
                    active.append(_Lane(path, index, now, number, self.chunk_mb))
                    number += 1
            speeds = self._speeds({lane.path_id for lane in active}, now)
            step = min((lane.left * self.lanes / speeds[lane.path_id] for lane in active), default=inf)
            if waiting and number < total:
                step = min(step, self.joins[waiting[0]] - now)
            if now < self.falls_at:
                step = min(step, self.falls_at - now)
            now += step
            for lane in list(active):
                lane.left -= step * speeds[lane.path_id] / self.lanes
                if lane.left > 1e-9:
                    continue
                self._deliver(lane, now + random.uniform(0, self.latest_sync))
                active.remove(lane)
                if number < total:
                    active.append(_Lane(lane.path_id, lane.lane, now, number, self.chunk_mb))
                    number += 1
        return sorted(self._chunks, key=lambda item: item.chunk)

    def arrivals(self) -> Arrivals:
        """As the report reads them."""
        return read(self.chunks())

    def _speeds(self, paths: Iterable[str], now: float) -> dict[str, float]:
        fallen = now >= self.falls_at
        wanted = {path: self.lasting.get(path, self.rates[path]) if fallen else self.rates[path] for path in paths}
        share = min(1.0, (self.lasting_ceiling if fallen else self.ceiling) / sum(wanted.values())) if wanted else 1.0
        return {path: rate * share for path, rate in wanted.items()}

    def _deliver(self, lane: _Lane, delivered: float) -> None:
        self._chunks.append(
            chunk(
                lane.number,
                state="DELIVERED",
                bytes=int(self.chunk_mb * MB),
                files=max(1, round(self.chunk_mb / self.file_mb)),
                path_id=lane.path_id,
                lane=lane.lane,
                started_at=round(self.begin + lane.started_at, 3),
                delivered_at=round(self.begin + delivered, 3),
            )
        )


def read(chunks: Iterable[Chunk]) -> Arrivals:
    """Arrivals of all of them."""
    arrivals = Arrivals()
    for item in chunks:
        arrivals.add(item)
    arrivals.settle()
    return arrivals
