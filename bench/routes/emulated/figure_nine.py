"""GEO-DMS's Figure 9 with real bytes: four strategies beside each other, each in six regions of its own.
All have the same schedule of caps.

The schedule is the one of the simulation (`bench/routes/changing.py`), its rates and its minutes scaled. So is what a
strategy knows. "Late": the mean of the minutes before; it takes over half a minute after a minute began, if it promises
5 % more. "At once": the minute's own caps, from its start.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.process import BenchError
from bench.results import say
from bench.routes.changing import (
    DESTINATION,
    LEAST_CHANGE,
    MINUTES,
    REGIONS,
    SOURCE,
    SPAWN_SECONDS,
    STRATEGIES,
    Strategy,
    Weather,
    moved,
)
from bench.routes.emulated.regions import Regions
from bench.routes.emulated.runner import Runner
from bench.routes.emulated.samples import at
from lambdas.core.routes.network_map import NetworkMap
from lambdas.core.routes.route_plan import Scheme

COMPARED = ("direct link", "widest path, once", "widest path, refreshed", "planner, refreshed")
LOOK_SECONDS = 0.05
SAMPLE_SECONDS = 0.25
# Of a minute: a schedule that is later than this was not the same for all.
MOST_LATE = 0.25
# Of a minute: relays of the next scheme are started so long before it takes over.
LEAD = 0.25


@dataclass(frozen=True)
class Setting:
    """What is capped, and how the original's rates and minutes are scaled."""

    whole_links: bool
    gain: float
    late: bool
    scale: float
    minute_seconds: float
    relays: int

    @property
    def mb_per_minute(self) -> float:
        """A simulated MB is so many here."""
        return self.scale * self.minute_seconds / 60


@dataclass(frozen=True)
class Measured:
    """MB that arrived until the end, what the simulation says, and samples of (seconds, MB); by strategy.

    What had to be sent again (`again`, MB) counts once; the samples have it twice.

    `busy`: share of this machine's processors that was used, by whomever. `used`: processors that the daemons used.
    """

    seed: int
    arrived: dict[str, float]
    again: dict[str, float]
    simulated: dict[str, float]
    samples: dict[str, list[tuple[float, float]]]
    busy: float
    used: float


class _Follower:
    """A strategy and what it has decided so far."""

    def __init__(self, runner: Runner, regions: Regions, weather: Weather, name: str, setting: Setting) -> None:
        self.runner, self.regions = runner, regions
        self._weather, self._setting = weather, setting
        self._refreshed, self._strategy = STRATEGIES[name]
        self.scheme = self._planned(self._strategy, 0)
        self._next: Scheme | None = None

    def begin(self) -> None:
        self.runner.prepare(self.scheme)
        self.runner.follow(self.scheme)

    def plan(self, minute: int) -> None:
        """Decide for a minute, and start what is missing."""
        if not self._refreshed:
            return
        new = self._planned(self._strategy, minute)
        known = self._known(minute)
        if not self._setting.late or new.rate(known) >= (1 + LEAST_CHANGE) * self.scheme.rate(known):
            self.runner.prepare(new)
            self._next = new

    def take_over(self) -> None:
        """Follow what was decided."""
        if self._next is not None:
            self.runner.follow(self._next)
            self.scheme, self._next = self._next, None

    def _known(self, minute: int) -> NetworkMap:
        return self._weather.known(minute) if self._setting.late else self._weather.minutes[minute]

    def _planned(self, strategy: Strategy, minute: int) -> Scheme:
        return strategy(self._known(minute), self._setting.relays)


def most_mb(setting: Setting, seeds: list[int]) -> float:
    """The most that a strategy should move."""
    return max(max(simulated(Weather.drawn(seed, setting.gain), setting).values()) for seed in seeds)


def simulated(weather: Weather, setting: Setting) -> dict[str, float]:
    """MB that each strategy should move."""
    return {
        name: moved(weather, *STRATEGIES[name], setting.relays, setting.late)[-1] * setting.mb_per_minute
        for name in COMPARED
    }


def measure(bench: Bench, source: Path, setting: Setting, seed: int) -> Measured:
    """All strategies at once under one seed."""
    weather = Weather.drawn(seed, setting.gain)
    with ExitStack() as stack:
        followers = {}
        for number, name in enumerate(COMPARED):
            regions = Regions(stack, f"routes{os.getpid()}", REGIONS, setting.whole_links)
            regions.hold(weather.minutes[0], setting.scale)
            own = replace(bench, work=bench.folder(f"strategy-{number}"))
            runner = Runner(stack, own, regions, source, (SOURCE, DESTINATION))
            followers[name] = _Follower(runner, regions, weather, name, setting)
            runner.prepare(followers[name].scheme)
        before = _busy()
        samples = _run(followers, weather, setting)
        after = _busy()
        used = sum(follower.runner.cpu_seconds for follower in followers.values())
        again = {name: follower.runner.check() for name, follower in followers.items()}
    ends = MINUTES * setting.minute_seconds
    arrived = {name: at(points, ends) - again[name] for name, points in samples.items()}
    busy = (after[0] - before[0]) / (after[1] - before[1])
    return Measured(
        seed, arrived, again, simulated(weather, setting), samples, busy, used / (MINUTES * setting.minute_seconds)
    )


def _run(followers: dict[str, _Follower], weather: Weather, setting: Setting) -> dict[str, list[tuple[float, float]]]:
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in followers}
    for follower in followers.values():
        follower.begin()
    began = time.monotonic()
    due = _schedule(followers, weather, setting)
    sampled, late = 0.0, [0.0]
    while (now := time.monotonic() - began) < MINUTES * setting.minute_seconds:
        while due and due[0][0] <= now:
            late.append(now - due[0][0])
            due.pop(0)[1]()
            now = time.monotonic() - began
        if now >= sampled:
            sampled += SAMPLE_SECONDS
            _sample(followers, samples, began)
        time.sleep(LOOK_SECONDS)
    _sample(followers, samples, began)
    if max(late) > MOST_LATE * setting.minute_seconds:
        raise BenchError(f"the machine is too busy: a change came {max(late):.1f} s late")
    return samples


def _schedule(
    followers: Mapping[str, _Follower], weather: Weather, setting: Setting
) -> list[tuple[float, Callable[[], None]]]:
    """What is to be done at which second."""
    due: list[tuple[float, Callable[[], None]]] = []
    for minute in range(1, MINUTES):
        begins = minute * setting.minute_seconds
        takes_over = begins + (SPAWN_SECONDS / 60 * setting.minute_seconds if setting.late else 0.0)

        def change(minute: int = minute) -> None:
            for follower in followers.values():
                follower.regions.hold(weather.minutes[minute], setting.scale)

        def plan(minute: int = minute) -> None:
            for follower in followers.values():
                follower.plan(minute)

        def take_over() -> None:
            for follower in followers.values():
                follower.take_over()

        due += [(begins, change), (takes_over - LEAD * setting.minute_seconds, plan), (takes_over, take_over)]
    return sorted(due, key=lambda one: one[0])


def _sample(followers: dict[str, _Follower], samples: dict[str, list[tuple[float, float]]], began: float) -> None:
    for name, follower in followers.items():
        samples[name].append((round(time.monotonic() - began, 3), round(follower.runner.arrived / 1e6, 3)))


def _busy() -> tuple[float, float]:
    """Ticks that this machine's processors were used, and all of them."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def tell(found: Measured) -> None:
    """One line about a seed."""
    moved_mb = ", ".join(f"{name} {mb:.0f} of {found.simulated[name]:.0f}" for name, mb in found.arrived.items())
    say(f"  seed {found.seed}: MB {moved_mb}; processors {found.busy:.0%} busy, {found.used:.2f} of them by daemons")
