"""When a transfer's bytes arrived, read off its chunk items."""

from collections import defaultdict
from dataclasses import dataclass, field

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.fleet.layout import is_direct
from lambdas.core.fleet.membership import DIRECT


def _path(chunk: Chunk) -> str:
    """Direct paths of several machines count as one: what is learnt of them is what all machines do together."""
    path_id = chunk.path_id or DIRECT
    return DIRECT if is_direct(path_id) else path_id


@dataclass(frozen=True)
class _Arrival:
    path_id: str
    started_at: float
    delivered_at: float
    bytes: int


@dataclass
class Arrivals:
    """Bytes by second (Unix time) and path, gathered chunk by chunk in order of their numbers.

    Memory is one number per second and path, and one chunk per lane. `begun`: each path's first byte; `drained`: when
    the last chunk left the queue, after which lanes run dry one by one; `ended`: the last byte. All in Unix seconds.
    `bytes` and `files`: of all delivered chunks.
    """

    per_second: defaultdict[tuple[int, str], float] = field(default_factory=lambda: defaultdict(float))
    begun: dict[str, float] = field(default_factory=dict)
    drained: float | None = None
    ended: float | None = None
    bytes: int = 0
    files: int = 0
    _last: dict[tuple[str, int], _Arrival] = field(default_factory=dict)

    def add(self, chunk: Chunk) -> None:
        """Count a delivered chunk; one without times counts nowhere."""
        if chunk.started_at is None or chunk.delivered_at is None:
            return
        self.bytes, self.files = self.bytes + chunk.bytes, self.files + chunk.files
        arrival = _Arrival(_path(chunk), chunk.started_at, chunk.delivered_at, chunk.bytes)
        if chunk.attempt == 1 and chunk.phase == 0:
            self.drained = max(self.drained or 0.0, arrival.started_at)
        self.ended = max(self.ended or 0.0, arrival.delivered_at)
        self.begun[arrival.path_id] = min(self.begun.get(arrival.path_id, arrival.started_at), arrival.started_at)
        lane = chunk.path_id or DIRECT, chunk.lane or 0
        if before := self._last.get(lane):
            # Delivered is when the bytes were on disk; they had arrived when the lane turned to its next chunk.
            turned = before.started_at < arrival.started_at < before.delivered_at
            self._spread(before, arrival.started_at if turned else before.delivered_at)
        self._last[lane] = arrival

    def settle(self) -> None:
        """Count each lane's last chunk: no more will come."""
        for arrival in self._last.values():
            self._spread(arrival, arrival.delivered_at)
        self._last.clear()

    def _spread(self, arrival: _Arrival, until: float) -> None:
        seconds = until - arrival.started_at
        if seconds <= 0:
            self.per_second[int(until), arrival.path_id] += arrival.bytes
            return
        for second in range(int(arrival.started_at), int(until) + 1):
            inside = min(until, second + 1) - max(arrival.started_at, second)
            if inside > 0:
                self.per_second[second, arrival.path_id] += arrival.bytes * inside / seconds
