"""A stage on which objects come and windows end, and where functions are killed, or others run, between two steps."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lambdas.adapters import stores
from lambdas.core.ends.key_list import read
from lambdas.core.intake.arrivals import Arrival, CollectedStart, order_of
from lambdas.operations.intake import collecting
from tests.lambdas.cloud import Cloud
from tests.lambdas.memory.arrivals import MemoryArrivals

REQUEST = {
    "source": {"kind": "bucket", "bucket": "exports", "prefix": "daily/", "region": "us-west-2"},
    "destination": {"instanceId": "i-0bbbbbbbbbbbbbbb2", "region": "eu-west-1", "path": "/restore"},
}
START = CollectedStart(name="exports", window_seconds=60, request=REQUEST)
_STEPS = ("arrivals", "objects", "executions", "schedules", "events")


class KilledError(BaseException):
    """The function's machine has gone; nothing of it runs any more."""


@dataclass
class Steps:
    """Every call of a function to something outside; `at` happens before and after the one of that number."""

    at: dict[int, Callable[[], object]] = field(default_factory=dict)
    seen: int = 0

    def pass_by(self) -> None:
        """Between two steps."""
        happens = self.at.pop(self.seen, None)
        self.seen += 1
        if happens:
            happens()


class Stepping:
    """A port whose every call is a step."""

    def __init__(self, port: Any, steps: Steps) -> None:
        self._port, self._steps = port, steps

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self._steps.pass_by()
            answer = method(*(self._stepwise(one) for one in arguments), **named)
            self._steps.pass_by()
            return answer

        return call

    def _stepwise(self, given: Any) -> Any:
        """What is handed over item by item is handed over in as many steps."""
        if not isinstance(given, Iterator):
            return given

        def items() -> Iterator[Any]:
            for item in given:
                self._steps.pass_by()
                yield item

        return items()


class Stage:
    """One start of a bucket, over any store of arrivals."""

    def __init__(self, arrivals: stores.Arrivals | None = None, start: CollectedStart = START) -> None:
        self.start = start
        self.cloud = Cloud()
        self.arrivals = arrivals or MemoryArrivals()
        self.steps = Steps()
        world = replace(self.cloud.world, arrivals=self.arrivals)
        stepping: dict[str, Any] = {name: Stepping(getattr(world, name), self.steps) for name in _STEPS}
        self.world = replace(world, **stepping)
        self.came: set[tuple[str, str]] = set()
        self._told = 0

    def killing(self, step: int) -> None:
        """Whoever takes that step is killed there, counted from now."""
        self.steps.at[self.steps.seen + step] = self._kill

    def happening(self, step: int, action: Callable[[], object]) -> None:
        """Another function does this between two steps of the one that runs, counted from now."""
        self.steps.at[self.steps.seen + step] = action

    @staticmethod
    def _kill() -> None:
        raise KilledError

    def comes(self, key: str, sequencer: str = "1", **more: Any) -> str | None:
        """S3's event is handled; None where the function is killed, so that the queue shows the event again."""
        arrival = Arrival(key=key, sequencer=order_of(sequencer), **more)
        self.came.add((key, arrival.sequencer))
        try:
            return collecting.collect(self.world, self.start, arrival)
        except KilledError:
            return None

    def closes(self, number: int) -> None:
        """The window's end is told."""
        try:
            collecting.close(self.world, self.start.name, number)
        except KilledError:
            return

    def passes(self, seconds: float) -> None:
        """Time passes: schedules run, events are handled, and the reconciler looks."""
        self.cloud.clock.time += seconds
        due = self.cloud.schedules.due
        for name in [name for name, (at, _) in due.items() if at <= self.cloud.clock.time]:
            self.closes(due.pop(name)[1]["number"])
        self.told()
        with suppress(KilledError):
            collecting.tell_overdue(self.world)
        self.told()

    def told(self) -> None:
        """Events on the bus reach their function."""
        events = self.cloud.events.put_events
        while self._told < len(events):
            kind, detail = events[self._told]
            self._told += 1
            if kind == "Window Due":
                self.closes(detail["number"])

    def rests(self) -> None:
        """All that is still to happen happens."""
        self.steps.at.clear()
        for _ in range(30):
            self.passes(61)
            window = self.arrivals.window(self.start.name)
            if window is None or window.state == "IDLE":
                break
        assert window is None or window.state == "IDLE"
        assert list(self.arrivals.waiting(self.start.name)) == []
        assert self.cloud.schedules.due == {}

    @property
    def lists(self) -> dict[str, list[tuple[str, str]]]:
        """Keys and sequencers of each execution that was started."""
        return {
            name: [
                (entry.key, str(entry.sequencer))
                for entry in read(self.cloud.objects.lines(request["source"]["keys"]["manifest"]))
            ]
            for name, request in self.cloud.executions.started.items()
        }

    @property
    def moved(self) -> list[tuple[str, str]]:
        """All writes that executions were started for."""
        return [write for found in self.lists.values() for write in found]

    def all_moved_once(self) -> None:
        """No write twice, and of each key the last."""
        moved = self.moved
        assert len(moved) == len(set(moved))
        last: dict[str, str] = {}
        for key, sequencer in self.came:
            last[key] = max(last.get(key, ""), sequencer)
        assert set(last.items()) <= set(moved) <= self.came
