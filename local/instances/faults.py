"""Counted faults: scripts say which calls are spoiled, never chance."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from local.config import Fault


class Faults:
    """The fault scripts of a cloud; each counts the calls that it is aimed at."""

    def __init__(self, scripts: Iterable[Fault]) -> None:
        self._scripts = [(script, [0]) for script in scripts]
        self._lock = threading.Lock()
        self.delayed: set[tuple[str, str]] = set()
        """Operations and regions of the calls that came late so far."""

    def add(self, script: Fault) -> None:
        """One more script; it counts from now on."""
        with self._lock:
            self._scripts.append((script, [0]))

    def hit(self, operation: str, region: str, **aim: str) -> Fault | None:
        """The first script that spoils this call of `operation`, which every script that is aimed at it counts.

        `aim`: what else is known of the call: `zone`, `instance_type`, `market`, `document`, `table`,
        `function`, `detail_type`.
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
            for script, seen in self._scripts:
                if bool(script.delay_seconds) != delays or not _aimed(script, operation, region, aim):
                    continue
                seen[0] += 1
                if found is None and script.after < seen[0] <= script.after + script.count:
                    found = script
        return found


def _aimed(script: Fault, operation: str, region: str, aim: dict[str, str]) -> bool:
    if (script.operation, script.region) != (operation, region):
        return False
    wanted = {
        "zone": script.zone,
        "instance_type": script.instance_type,
        "market": script.market,
        "document": script.document,
        "table": script.table,
        "function": script.function,
        "detail_type": script.detail_type,
    }
    return all(value is None or aim.get(name) == value for name, value in wanted.items())
