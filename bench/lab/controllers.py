"""What decides how many streams a transfer has: the papers' policies, Falcon, Xet, and the sender's own code."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil, exp, log
from pathlib import Path as File
from typing import Protocol

from bench.lab.lanes import Flow, Path
from bench.lab.tuning import Growing

MOST = 64


class Controller(Protocol):
    """Asked after each step."""

    def look(self, now: float, flow: Flow) -> int:
        """Streams from now on."""
        ...


class Fixed:
    """As many as were asked for."""

    def __init__(self, count: int) -> None:
        self._count = count

    def look(self, now: float, flow: Flow) -> int:
        """The same always."""
        return self._count


class Pcp:
    """PCP's growth, one decision a chunk."""

    def __init__(self, growing: Growing, chunk_seconds: float) -> None:
        self._growing, self._seconds = growing, chunk_seconds
        self._since, self._moved = 0.0, 0.0

    def look(self, now: float, flow: Flow) -> int:
        """Streams of the chunk that is under way."""
        if now - self._since >= self._seconds:
            self._growing = self._growing.after((flow.moved - self._moved) / (now - self._since))
            self._since, self._moved = now, flow.moved
        return self._growing.setting.concurrency * self._growing.setting.parallelism


class Falcon:
    """Falcon's gradient (SC '21): U = T / K^n - B L T, probes of 3 s whose first second does not count."""

    K, B, PROBE, IGNORED = 1.02, 10.0, 3.0, 1.0

    def __init__(self) -> None:
        self._count, self._theta, self._direction = 2, 0, 0
        self._last: tuple[int, float] | None = None
        self._begin(0.0, Flow())
        self._seen = (0.0, 0.0)

    def _begin(self, now: float, flow: Flow) -> None:
        self._since, self._counts = now, False
        self._seen = (flow.moved, flow.lost)

    def look(self, now: float, flow: Flow) -> int:
        """Streams of the probe."""
        age = now - self._since
        if not self._counts and age >= self.IGNORED:
            self._counts, self._seen = True, (flow.moved, flow.lost)
        if age < self.PROBE:
            return self._count
        moved, lost = flow.moved - self._seen[0], flow.lost - self._seen[1]
        rate = moved / (self.PROBE - self.IGNORED)
        utility = rate / self.K**self._count - self.B * (lost / max(moved + lost, 1.0)) * rate
        self._step(utility)
        self._begin(now, flow)
        return self._count

    def _step(self, utility: float) -> None:
        last, self._last = self._last, (self._count, utility)
        if last is None or last[0] == self._count:
            self._count = min(self._count + 1, MOST)
            return
        gradient = (utility - last[1]) / (self._count - last[0])
        direction = 1 if gradient > 0 else -1
        self._theta = self._theta + 1 if direction == self._direction else 1
        self._direction = direction
        change = self._theta * ceil(self._count * min(abs(gradient / utility) if utility else 1.0, 1.0))
        self._count = min(max(self._count + direction * change, 1), MOST)


class Xet:
    """Xet's controller: t = a + bytes n / bandwidth by weighted regression; an object that is no later is good."""

    OBJECT, AFTER, APART, HALF_LIFE, GOOD, BAD = 64e6, 20e6, 0.5, 8.0, 0.8, 0.5
    QUANTILE = 1.645

    def __init__(self) -> None:
        self._count, self._changed, self._ratio = 1, 0.0, 1.0
        self._weights = [0.0] * 5
        self._objects, self._squares = 0.0, 0.0

    def look(self, now: float, flow: Flow) -> int:
        """One more, one less, or the same."""
        size = min(self.OBJECT, max(flow.moved / 20, 1e6))
        if flow.moved - self._objects >= size:
            seconds = size * self._count * (now - self._since(now)) / max(flow.moved - self._objects, 1.0)
            self._note(size * self._count, seconds)
            self._objects, self._at = flow.moved, now
        if flow.moved >= self.AFTER and now - self._changed >= self.APART:
            step = 1 if self._ratio > self.GOOD else -1 if self._ratio < self.BAD else 0
            if step:
                self._count, self._changed = min(max(self._count + step, 1), MOST), now
        return self._count

    _at = 0.0

    def _since(self, now: float) -> float:
        return min(self._at, now)

    def _note(self, work: float, seconds: float) -> None:
        decay = exp(-log(2) / self.HALF_LIFE)
        count, x, y, xx, xy = self._weights
        spread = count * xx - x * x
        if count > 1 and spread > 1e-9 * max(count * xx, 1.0):
            slope = (count * xy - x * y) / spread
            told = (y - slope * x) / count + slope * work
        else:
            told = y / count if count else seconds
        deviation = (self._squares / count) ** 0.5 if count else seconds
        is_good = seconds <= told + self.QUANTILE * deviation
        self._ratio = decay * self._ratio + (1 - decay) * is_good
        new = (1.0, work, seconds, work * work, work * seconds)
        self._weights = [decay * old + one for old, one in zip(self._weights, new, strict=True)]
        self._squares = decay * self._squares + (seconds - told) ** 2


class Sender:
    """The sender's own decision, by the program that is measured elsewhere with real bytes."""

    LOOK = 0.1

    def __init__(self, process: "subprocess.Popen[str]", path: Path, chunks: int) -> None:
        self._process, self._path, self._chunks = process, path, chunks
        self._next, self._count = 0.0, 1

    def look(self, now: float, flow: Flow) -> int:
        """Asked every tenth of a second, as in the sender."""
        if now >= self._next and self._process.stdin and self._process.stdout:
            self._next = now + self.LOOK
            asked = {
                "seconds": round(now, 6),
                "lanes": self._count,
                "moved": int(flow.moved),
                "roundTripMs": self._path.round_trip * 1e3,
                "sendBuffer": int(self._path.buffer),
                "busyUs": int(flow.busy * 1e6),
                "sendBufferLimitedUs": int(flow.buffer_limited * 1e6),
                "least": 1,
                "chunks": self._chunks,
            }
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            self._count = int(self._process.stdout.readline())
        return self._count


@contextmanager
def sender(program: File, path: Path, chunks: int = 10_000) -> Iterator[Sender]:
    """One that begins anew."""
    argv = [str(program), "growth"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Sender(process, path, chunks)
        finally:
            process.kill()
