"""Timers of the local cloud: one thread waits, a small pool does the work."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

log = logging.getLogger("local.clock")


class Clock:
    """Runs callables after a delay, at most `workers` at a time; a failure is logged, never lost."""

    def __init__(self, workers: int = 8) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="local-clock")
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        threading.Thread(target=self._wait, name="local-clock", daemon=True).start()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Run `action` on the pool once `seconds` have passed."""
        self.at(time.monotonic() + seconds, action)

    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Run `action` on the pool at a moment of the monotonic clock, never before it."""
        with self._changed:
            heapq.heappush(self._entries, (moment, next(self._order), action))
            self._changed.notify()

    def _wait(self) -> None:
        while True:
            with self._changed:
                while not self._entries:
                    self._changed.wait()
                due = self._entries[0][0] - time.monotonic()
                if due > 0:
                    self._changed.wait(due)
                    continue
                action = heapq.heappop(self._entries)[2]
            self._pool.submit(self._run, action)

    @staticmethod
    def _run(action: Callable[[], None]) -> None:
        try:
            action()
        except Exception:
            log.exception("a timed action failed")
