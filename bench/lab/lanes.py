"""TCP streams on one path, as a flow that is computed step by step: windows that grow, a queue that overflows. Pure.

A stream's window doubles each round trip until its first loss, grows as CUBIC's afterwards, and is three tenths smaller
after a loss. It is never larger than half of the buffer, which is what Linux lets a sender have under way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

STEP = 0.02
MSS = 1448.0
FIRST_WINDOW = 10 * MSS
CUBIC_C, CUBIC_BETA = 0.4, 0.7
MB = 1e6


@dataclass(frozen=True)
class Path:
    """MB/s from some second on, seconds, bytes."""

    rates: Sequence[tuple[float, float]]
    round_trip: float
    buffer: float
    queue: float

    def rate(self, second: float) -> float:
        """Bytes a second."""
        return MB * [mb_s for since, mb_s in self.rates if since <= second][-1]


@dataclass
class Stream:
    """One stream's window, where it was before the last loss, and when that was."""

    window: float = FIRST_WINDOW
    before: float = 0.0
    since: float = 0.0
    most: float = float("inf")
    """Bytes under way that its files allow."""

    def grow(self, seconds: float, round_trip: float, now: float, most: float) -> None:
        """For so long without a loss."""
        if not self.before:
            self.window *= 2 ** (seconds / round_trip)
        else:
            before, age = self.before / MSS, now - self.since
            turn = (before * (1 - CUBIC_BETA) / CUBIC_C) ** (1 / 3)
            reno = before * CUBIC_BETA + 0.53 * age / round_trip
            self.window = MSS * max(CUBIC_C * (age - turn) ** 3 + before, reno)
        self.window = min(self.window, most)

    def lose(self, now: float) -> None:
        """One loss."""
        self.before, self.since = self.window, now
        self.window = max(self.window * CUBIC_BETA, 2 * MSS)


@dataclass
class Flow:
    """All streams of one transfer, and what they moved."""

    streams: list[Stream] = field(default_factory=list)
    moved: float = 0.0
    lost: float = 0.0
    busy: float = 0.0
    """Stream seconds, and of these those in which the buffer was the limit."""
    buffer_limited: float = 0.0

    def set(self, count: int, most: float = float("inf")) -> None:
        """So many streams; new ones begin small, the last ones go."""
        del self.streams[max(count, 1) :]
        while len(self.streams) < max(count, 1):
            self.streams.append(Stream(most=most))


class Network:
    """Flows that share a path."""

    def __init__(self, path: Path, flows: Sequence[Flow], random: Random) -> None:
        self.path, self.flows, self._random = path, flows, random
        self.now, self._queue = 0.0, 0.0

    def step(self) -> None:
        """Let one step pass."""
        rate = self.path.rate(self.now)
        round_trip = self.path.round_trip + self._queue / rate
        every = [(flow, stream) for flow in self.flows for stream in flow.streams]
        most = self.path.buffer / 2
        windows = [min(stream.window, stream.most) for _, stream in every]
        offered = sum(windows) / round_trip
        carried = min(offered, rate) if self._queue <= 0 else rate
        over = self._queue + (offered - rate) * STEP
        self._queue = min(max(over, 0.0), self.path.queue)
        dropped = max(over - self.path.queue, 0.0)
        whole = sum(windows)
        for (flow, stream), window in zip(every, windows, strict=True):
            share = window / whole
            flow.moved += carried * share * STEP
            flow.busy += STEP
            is_full = stream.window >= most or window >= stream.most
            flow.buffer_limited += STEP if stream.window >= most and offered <= rate else 0.0
            expected = dropped * share / MSS
            if expected and self._random.random() < min(1.0, expected):
                flow.lost += max(expected, 1.0) * MSS
                stream.lose(self.now)
            elif not is_full:
                stream.grow(STEP, round_trip, self.now, most)
        self.now += STEP
