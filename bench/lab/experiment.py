"""An experiment: the figures that it measures, what the paper prints of them, and the function that measures."""

import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from os import cpu_count
from pathlib import Path
from random import Random
from threading import Event, Thread

from bench.data_plane import isolation
from bench.data_plane.bench import Bench
from bench.lab.record import Claim
from bench.plots import Plot
from bench.results import Result, say

LOOK_SECONDS = 0.2
MOST_BUSY = 0.7
"""Of the processors: forwarder and both ends beyond it would measure the machine, not the network."""


@dataclass(frozen=True)
class Figure:
    """One figure of a paper."""

    name: str
    paper: str
    title: str
    claims: Sequence[Claim] = ()


@dataclass(frozen=True)
class Found:
    """What was measured of one figure."""

    rows: Sequence[Result]
    plots: Sequence[Plot] = ()
    note: str = ""
    invalid: Sequence[str] = ()


@dataclass(frozen=True)
class Cell:
    """What one run used of the machine."""

    seconds: float
    ours: float
    """Share of all processors."""
    others: float
    waited: float
    """Share of the time in which one task of ours, the worst, was ready and had no processor."""

    @property
    def is_valid(self) -> bool:
        """Whether the network was the limit."""
        return self.ours <= MOST_BUSY and self.waited <= MOST_WAITED


MOST_WAITED = 0.1
"""Of a cell's time: where a task waits longer, what else runs on this machine is measured, too."""


@dataclass
class Lab:
    """What an experiment works with."""

    bench: Bench
    seed: int
    smoke: bool = False
    """Little of everything: it tries the experiment, and its numbers mean nothing."""
    invalid: list[str] = field(default_factory=list)

    @property
    def random(self) -> Random:
        """Draws that are the same in each run with this seed."""
        return Random(self.seed)

    @contextmanager
    def cell(self, name: str) -> Iterator[None]:
        """One measurement: says what it used, and remembers it as invalid where that was too much.

        Only processes that have ended inside are counted as ours.
        """
        before, began = (_ours(), _all()), time.monotonic()
        with waits() as delays:
            yield
        seconds = max(time.monotonic() - began, 0.01)
        cores = cpu_count() or 1
        ours = (_ours() - before[0]) / (seconds * cores)
        others = max(0.0, (_all() - before[1]) / (seconds * cores) - ours)
        used = Cell(seconds, ours, others, max(delays.values(), default=0.0) / seconds)
        busy = f"processors {used.ours:.0%} by us and {used.others:.0%} by others"
        text = f"{name}: {used.seconds:.1f} s, {busy}; a task waited {used.waited:.1%}"
        say(f"  {text}")
        if not used.is_valid and not self.smoke:
            self.invalid.append(text)


@contextmanager
def waits() -> Iterator[dict[str, float]]:
    """Seconds for which each task of this world was ready and had no processor; none outside of a world of our own."""
    found: dict[str, float] = {}
    over, before = Event(), _delays() if isolation.inside() else {}

    def look() -> None:
        while not over.wait(LOOK_SECONDS):
            found.update({task: delay - before.get(task, 0.0) for task, delay in _delays().items()})

    thread = Thread(target=look, daemon=True)
    if isolation.inside():
        thread.start()
    yield found
    over.set()
    if thread.is_alive():
        thread.join()


def _delays() -> dict[str, float]:
    found = {}
    for path in Path("/proc").glob("[0-9]*/task/[0-9]*/schedstat"):
        with suppress(OSError, ValueError, IndexError):  # it has just ended
            found[str(path)] = int(path.read_text().split()[1]) / 1e9
    return found


def _ours() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _all() -> float:
    """CPU seconds of the whole machine, idle ones left out."""
    with open("/proc/stat") as stat:  # noqa: PTH123
        user, nice, system, _, _, irq, soft, *_ = (int(text) for text in stat.readline().split()[1:])
    return (user + nice + system + irq + soft) / 100


@dataclass(frozen=True)
class Experiment:
    """Figures that plot the same runs are measured at once."""

    figures: Sequence[Figure]
    measure: Callable[[Lab], Mapping[str, Found]]
    minutes: float
    isolated: bool = True
    """Whether it builds networks by itself, in a world that ends with it."""
    daemon: bool = True
    """Whether it needs the laboratory's daemon."""

    @property
    def name(self) -> str:
        """The first figure's."""
        return self.figures[0].name
