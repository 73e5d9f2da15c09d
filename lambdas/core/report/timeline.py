"""The course of a transfer: the rate of each path over time and the chunks of each lane, bounded at any size."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from pydantic import Field

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.documents import Count, Document
from lambdas.core.fleet.layout import is_direct
from lambdas.core.fleet.membership import DIRECT
from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.request.bandwidth import LimitChange, Mbps, SetBy

# A picture of a thousand points across shows no more than 600 steps; with many paths the numbers must fit a document.
MAX_INTERVALS = 600
MAX_RATES = 6_000
INTERVALS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
MAX_BARS = 1_000
MAX_LANES = 100
SMALLEST_GRAIN = 1 / 16

NonNegative = Annotated[float, Field(ge=0)]


class PathRates(Document):
    """MB/s of a path in each interval."""

    path_id: str
    rates: list[NonNegative] = Field(alias="ratesMBps")


class Bar(Document):
    """Chunks that a lane delivered in a row; seconds since `zeroAt`."""

    start: NonNegative
    end: NonNegative
    chunks: Count
    bytes: Count
    retries: Count


class LaneBars(Document):
    """One TCP stream of a path."""

    path_id: str
    lane: Count
    bars: list[Bar]


class LimitSet(Document):
    """The sender's limit changed, seconds since `zeroAt`; without `bandwidthLimitMbps` it was lifted."""

    second: float
    bandwidth_limit_mbps: Mbps | None = None
    by: SetBy = "person"


class Course(Document):
    """Contract `report`, `course`. `zero_at`: when the first byte came (Unix time, s); all times count from it.

    The first interval begins at `rates_from`, the whole second before it: 0 or less.
    """

    zero_at: NonNegative
    rates_from: Annotated[float, Field(gt=-1, le=0)]
    interval_seconds: Annotated[int, Field(ge=1)]
    paths: list[PathRates]
    lanes: list[LaneBars]
    lanes_left_out: Count
    limits: list[LimitSet] = Field(default_factory=list)

    def with_limits(self, changes: list[LimitChange]) -> "Course":
        """With the changes of the limit."""
        limits = [
            LimitSet(second=round(one.at - self.zero_at, 3), bandwidth_limit_mbps=one.mbps, by=one.by)
            for one in changes
        ]
        return self.model_copy(update={"limits": limits})

    @property
    def seconds(self) -> float:
        """Seconds from `zero_at` to the last byte."""
        ends = [bar.end for lane in self.lanes for bar in lane.bars]
        return max(ends, default=0.0)


def path_order(path_id: str) -> tuple[bool, list[int], str]:
    """The direct path first, pairs by their numbers."""
    return not is_direct(path_id), [int(part) for part in path_id.split("-") if part.isdigit()], path_id


class _Run(NamedTuple):
    """A bar that still grows; Unix seconds."""

    start: float
    end: float
    chunks: int
    bytes: int
    retries: int

    def joined(self, other: "_Run") -> "_Run":
        return _Run(
            min(self.start, other.start),
            max(self.end, other.end),
            self.chunks + other.chunks,
            self.bytes + other.bytes,
            self.retries + other.retries,
        )


@dataclass
class Bars:
    """Bars by lane, gathered chunk by chunk in any order; bars that begin within one `grain` (s) are one.

    Memory is at most twice `MAX_BARS`, or one bar a lane.
    """

    grain: float = 0.0
    _lanes: dict[tuple[str, int], list[_Run]] = field(default_factory=dict)
    _count: int = 0

    def add(self, chunk: Chunk) -> None:
        """Count a delivered chunk; one without times has no place in a picture of times."""
        if chunk.started_at is None or chunk.delivered_at is None:
            return
        lane = self._lanes.setdefault((chunk.path_id or DIRECT, chunk.lane or 0), [])
        end = max(chunk.started_at, chunk.delivered_at)
        lane.append(_Run(chunk.started_at, end, 1, chunk.bytes, chunk.attempt - 1))
        self._count += 1
        if self._count > 2 * MAX_BARS:
            self._coarsen()

    def lanes(self, zero_at: float) -> tuple[list[LaneBars], int]:
        """Return lanes by path and number, s since `zero_at`, and how many had no place: the last ones of each path."""
        self._coarsen()
        kept = sorted(self._lanes, key=lambda key: (key[1], path_order(key[0])))[:MAX_LANES]
        kept.sort(key=lambda key: (path_order(key[0]), key[1]))
        found = [
            LaneBars(path_id=path, lane=lane, bars=_shown(self._lanes[path, lane], zero_at)) for path, lane in kept
        ]
        return found, len(self._lanes) - len(kept)

    def _coarsen(self) -> None:
        most = max(MAX_BARS, len(self._lanes))
        if self._count > most and self.grain:
            self._merge()  # those that came since are as fine as they came
        while self._count > most:
            self.grain = max(2 * self.grain, SMALLEST_GRAIN)
            self._merge()

    def _merge(self) -> None:
        self._lanes = {key: _merged(runs, self.grain) for key, runs in self._lanes.items()}
        self._count = sum(map(len, self._lanes.values()))


def _merged(runs: list[_Run], grain: float) -> list[_Run]:
    merged: dict[int, _Run] = {}
    for run in runs:
        place = int(run.start // grain)
        known = merged.get(place)
        merged[place] = known.joined(run) if known else run
    return list(merged.values())


def _shown(runs: list[_Run], zero_at: float) -> list[Bar]:
    """Return bars in order. A chunk's bar ends when it is on disk, after its lane has turned to the next one."""
    ordered = sorted(runs)
    nexts = [run.start for run in ordered[1:]] + [ordered[-1].end]
    return [
        Bar(
            start=round(max(run.start - zero_at, 0.0), 3),
            end=round(max(min(run.end, following) - zero_at, 0.0), 3),
            chunks=run.chunks,
            bytes=run.bytes,
            retries=run.retries,
        )
        for run, following in zip(ordered, nexts, strict=True)
    ]


def interval(seconds: int, paths: int) -> int:
    """The shortest interval (s) at which rates of `paths` over `seconds` stay within the bounds."""
    most = max(min(MAX_INTERVALS, MAX_RATES // max(paths, 1)), 1)
    return next((width for width in INTERVALS if seconds <= width * most), -(-seconds // most))


def _rates(per_second: Mapping[tuple[int, str], float], zero: int, width: int) -> list[PathRates]:
    length = (max(second for second, _ in per_second) - zero) // width + 1
    found: dict[str, list[float]] = {}
    for (second, path), count in per_second.items():
        found.setdefault(path, [0.0] * length)[(second - zero) // width] += count / 1e6 / width
    return [
        PathRates(path_id=path, rates=[round(rate, 3) for rate in found[path]])
        for path in sorted(found, key=path_order)
    ]


def course(arrivals: Arrivals, bars: Bars) -> Course | None:
    """Draw the timeline of settled arrivals; None where nothing came."""
    seconds = [second for second, _ in arrivals.per_second]
    if not seconds:
        return None
    zero = min(seconds)
    width = interval(max(seconds) - zero + 1, len({path for _, path in arrivals.per_second}))
    zero_at = min(arrivals.begun.values())
    lanes, left_out = bars.lanes(zero_at)
    return Course(
        zero_at=zero_at,
        rates_from=round(min(zero - zero_at, 0.0), 3),
        interval_seconds=width,
        paths=_rates(arrivals.per_second, zero, width),
        lanes=lanes,
        lanes_left_out=left_out,
    )
