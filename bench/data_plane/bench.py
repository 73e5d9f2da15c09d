"""What every case works with: options, programs, files, and the order of runs."""

import shutil
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench import memory
from bench.data_plane.process import BenchError

T = TypeVar("T")
MIB = 1 << 20
# The large file, and a fifth for buffers.
WARM_BYTES = 2500 * MIB


@dataclass(frozen=True)
class Bench:
    """One run of the benchmark."""

    daemon: Path
    work: Path
    runs: int = 3
    quick: bool = False
    lanes: int | None = None
    """For tuning: instead of the planner's."""
    chunk_mib: int | None = None

    def size(self, full: int, quick: int) -> int:
        """A size for a real run, or to try the harness itself."""
        return quick if self.quick else full

    def folder(self, name: str) -> Path:
        """An empty folder."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def warm(self) -> None:
        """Make ready as much memory as a run writes."""
        memory.warm(self.work, self.size(WARM_BYTES, 0))

    def alternate(self, sides: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
        """Each side once, then each again the other way round.

        So whatever slows the machine for a while meets all of them, and none always runs after the same other.
        """
        found: dict[str, list[T]] = {name: [] for name in sides}
        for number in range(self.runs):
            for name, side in list(sides.items())[:: -1 if number % 2 else 1]:
                say(f"  {name}, run {number + 1} of {self.runs}")
                self.warm()
                found[name].append(side())
        return found

    def fastest(self, candidates: Mapping[str, Callable[[], float]]) -> str:
        """Name of the candidate whose single run takes the fewest seconds; one that fails is left out, aloud."""
        seconds: dict[str, float] = {}
        for name, candidate in candidates.items():
            self.warm()
            try:
                seconds[name] = candidate()
                say(f"  trying {name}: {seconds[name]:.2f} s")
            except BenchError as error:
                say(f"  trying {name}: {error}")
        if not seconds:
            raise BenchError(f"none of these works: {', '.join(candidates)}")
        return min(seconds, key=seconds.__getitem__)


def say(text: str) -> None:
    """What is going on, for whoever waits."""
    print(text, file=sys.stderr, flush=True)


def median(values: list[float]) -> float:
    """The middle one."""
    return statistics.median(values)
