"""The command workers of an instance's agent.

AWS: an agent runs some commands at once (`Mds.CommandWorkersLimit`) and keeps some more in a buffer, in the order in
which they came (`Mds.CommandWorkerBufferLimit`). It refuses what is beyond that (`ProcessorBufferFull`), which SSM
offers to it again. A command that has not started within its TimeoutSeconds never runs.
Emulator: runs all commands at once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from local.facts import fact

WORKERS = fact("ssm-agent-workers")
BUFFER = fact("ssm-agent-buffer")

Turn = Literal["begins", "late", "cancelled"]


class Workers:
    """The workers of one agent; `busy_seconds`: something else holds all of them so long from now on."""

    def __init__(self, busy_seconds: float = 0.0) -> None:
        self._changed = threading.Condition()
        self._buffer: deque[object] = deque()
        self._running = 0
        self._free_at = time.monotonic() + busy_seconds

    def begin(self, seconds: float, is_cancelled: Callable[[], bool]) -> Turn:
        """Wait for a worker, up to `seconds`. Whoever begins calls `end` once the command has ended."""
        deadline = time.monotonic() + seconds
        place = object()
        with self._changed:
            while True:
                now = time.monotonic()
                if is_cancelled() or now >= deadline:
                    if place in self._buffer:
                        self._buffer.remove(place)
                        self._changed.notify_all()
                    return "cancelled" if is_cancelled() else "late"
                if place not in self._buffer and len(self._buffer) < BUFFER:
                    self._buffer.append(place)
                if self._buffer[0] is place and self._running < WORKERS and now >= self._free_at:
                    self._buffer.popleft()
                    self._running += 1
                    self._changed.notify_all()
                    return "begins"
                until = self._free_at if now < self._free_at < deadline else deadline
                self._changed.wait(until - now)

    def end(self) -> None:
        """A command has ended: its worker takes the next one."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def look_again(self) -> None:
        """A command was cancelled: whoever waits looks whether it was this one."""
        with self._changed:
            self._changed.notify_all()
