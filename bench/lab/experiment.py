"""An experiment: the figures that it measures, what the paper prints of them, and the function that measures."""

import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import cpu_count
from random import Random

from bench.data_plane.bench import Bench
from bench.lab.record import Claim
from bench.plots import Plot
from bench.results import Result, say

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
    """What one run used of the machine: shares of all processors, by us and by others."""

    seconds: float
    ours: float
    others: float

    @property
    def is_valid(self) -> bool:
        """Whether the network was the limit."""
        return self.ours <= MOST_BUSY and self.ours + self.others <= MOST_ALL


MOST_ALL = 0.9
"""Of the processors, with what others compute at the same time."""


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
        yield
        seconds = max(time.monotonic() - began, 0.01)
        cores = cpu_count() or 1
        ours = (_ours() - before[0]) / (seconds * cores)
        used = Cell(seconds, ours, max(0.0, (_all() - before[1]) / (seconds * cores) - ours))
        text = f"{name}: {used.seconds:.1f} s, processors {used.ours:.0%} by us and {used.others:.0%} by others"
        say(f"  {text}")
        if not used.is_valid and not self.smoke:
            self.invalid.append(text)


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
