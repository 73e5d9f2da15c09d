"""Counted faults: scripts say which calls are spoiled, never chance."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from local.config import Fault


class Faults:
    """The fault scripts of a cloud; each counts the calls that it is aimed at."""

    def __init__(self, scripts: Iterable[Fault], now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._scripts = [_Counted(script, now()) for script in scripts]
        self._lock = threading.Lock()
        self.delayed: set[tuple[str, str]] = set()
        """Operations and regions of the calls that came late so far."""

    def add(self, script: Fault) -> None:
        """One more script; it counts from now on."""
        with self._lock:
            self._scripts.append(_Counted(script, self._now()))

    def hit(self, operation: str, region: str, **aim: str) -> Fault | None:
        """The first script that spoils this call of `operation`, which every script that is aimed at it counts.

        `aim`: what else is known of the call: `zone`, `instance_type`, `market`, `document`, `table`,
        `index`, `function`, `detail_type`, `key`.
        """
        return self._first(operation, region, aim, delays=False)

    def delay(self, operation: str, region: str) -> float:
        """Seconds by which this call of `operation` is late."""
        found = self._first(operation, region, {}, delays=True)
        if found:
            self.delayed.add((operation, region))
        return found.delay_seconds if found else 0.0

    def _first(self, operation: str, region: str, aim: dict[str, str], *, delays: bool) -> Fault | None:
        found = None
        with self._lock:
            for one in self._scripts:
                script = one.script
                is_meant = bool(script.delay_seconds) == delays and self._now() <= one.until
                if not is_meant or not _aimed(script, operation, region, aim):
                    continue
                one.seen += 1
                if found is None and script.after < one.seen <= script.after + script.count:
                    found = script
        return found


class _Counted:
    """A script, how many calls that it is aimed at were seen since it was added, and until when it holds."""

    def __init__(self, script: Fault, added_at: float) -> None:
        self.script, self.seen = script, 0
        self.until = added_at + script.during_seconds if script.during_seconds else float("inf")


def _aimed(script: Fault, operation: str, region: str, aim: dict[str, str]) -> bool:
    is_any = script.operation == "*" and script.delay_seconds > 0
    if script.region != region or not (is_any or script.operation == operation):
        return False
    wanted = {
        "zone": script.zone,
        "instance_type": script.instance_type,
        "market": script.market,
        "document": script.document,
        "table": script.table,
        "index": script.index,
        "function": script.function,
        "detail_type": script.detail_type,
        "key": script.key,
    }
    is_within = script.prefix is None or aim.get("key", "").startswith(script.prefix)
    return is_within and all(value is None or aim.get(name) == value for name, value in wanted.items())
