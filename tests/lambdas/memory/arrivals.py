"""In-memory twins of the arrivals and of Scheduler, under the same tests."""

from collections.abc import Iterable, Iterator
from typing import Any

from lambdas.core.intake.added_starts import AddedStarts
from lambdas.core.intake.arrivals import Arrival, Window


class MemoryArrivals:
    """Arrivals."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], str] = {}
        self.kept: dict[tuple[str, str, str], Arrival] = {}
        self._windows: dict[str, Window] = {}

    def collect(self, start: str, arrival: Arrival, now: float) -> bool:
        """See Arrivals."""
        if self.known.get((start, arrival.key), "") >= arrival.sequencer:
            return False
        self.known[start, arrival.key] = arrival.sequencer
        self.kept[start, arrival.hash, arrival.sequencer] = arrival
        return True

    def waits(self, start: str, arrival: Arrival) -> bool:
        """See Arrivals."""
        return (start, arrival.hash, arrival.sequencer) in self.kept

    def waiting(self, start: str) -> Iterator[Arrival]:
        """See Arrivals."""
        yield from [arrival for key, arrival in sorted(self.kept.items()) if key[0] == start]

    def take(self, start: str, arrivals: Iterable[Arrival]) -> None:
        """See Arrivals."""
        for arrival in arrivals:
            self.kept.pop((start, arrival.hash, arrival.sequencer), None)

    def window(self, start: str) -> Window | None:
        """See Arrivals."""
        return self._windows.get(start)

    def windows(self) -> list[Window]:
        """See Arrivals."""
        return list(self._windows.values())

    def write(self, window: Window) -> bool:
        """See Arrivals."""
        known = self._windows.get(window.start)
        if (known.version if known else 0) != window.version - 1:
            return False
        self._windows[window.start] = window
        return True


class MemoryAddedStarts:
    """AddedStartsStore."""

    def __init__(self) -> None:
        self._starts = AddedStarts()

    def get(self) -> AddedStarts:
        """See AddedStartsStore."""
        return self._starts

    def put(self, starts: AddedStarts) -> bool:
        """See AddedStartsStore."""
        if starts.version != self._starts.version + 1:
            return False
        self._starts = starts
        return True


class MemorySchedules:
    """Schedules; `due` are those that have not run."""

    def __init__(self) -> None:
        self.due: dict[str, tuple[float, dict[str, Any]]] = {}

    def once(self, name: str, at: float, detail: dict[str, Any]) -> None:
        """See Schedules."""
        self.due.setdefault(name, (at, detail))
