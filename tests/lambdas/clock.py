"""A clock that only moves when somebody waits."""

from collections.abc import Callable


class FakeClock:
    """Time passes only in `sleep`; `at` runs something when its second has come."""

    def __init__(self) -> None:
        self.time = 1000.0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        for due in [entry for entry in self._due if entry[0] <= self.time]:
            self._due.remove(due)
            due[1]()

    def at(self, seconds: float, action: Callable[[], object]) -> None:
        self._due.append((self.time + seconds, action))
