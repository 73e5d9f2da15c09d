"""Which combinations a sweep tries, which it leaves out and why, and what it recommends. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

STREAMS = (1, 2, 4, 8, 16, 32, 64)
WINDOWS = tuple(131_072 << step for step in range(9))
"""128 KiB to 32 MiB; the thesis' list of nine has 1 MiB twice."""
NEAR_BEST = 0.95


@dataclass(frozen=True, order=True)
class Combination:
    """One run's tool, streams, and bytes of a window."""

    tool: str
    streams: int
    window: int

    @property
    def memory(self) -> int:
        """Bytes that both ends may hold in windows."""
        return self.streams * self.window * 2

    def __str__(self) -> str:
        return f"{self.tool}, {self.streams} streams, window {self.window}"


@dataclass(frozen=True)
class Machine:
    """What the sweep may use."""

    memory_available: int
    send_most: int
    """The kernel's most for a window, of both directions."""
    receive_most: int
    free_space: int
    reachable: bool
    missing: Mapping[str, str]
    """Tools that are not here, and how to get them."""
    by_option: Collection[str] = ()
    """Tools that ask the kernel for a window themselves, which it caps without a word."""

    @property
    def window_most(self) -> int:
        """Bytes of a window that both directions may have."""
        return min(self.send_most, self.receive_most)


def combinations(tools: Sequence[str], streams: Sequence[int], windows: Sequence[int]) -> list[Combination]:
    """All of them; iperf3 and the others one after the other, as the thesis ran them."""
    return [Combination(tool, some, window) for tool in tools for some in streams for window in windows]


def refusal(one: Combination, machine: Machine, size: int) -> str | None:
    """Why a combination cannot run here, or None. The thesis' scripts hung on such for days."""
    reasons = {
        f"{one.tool} is not installed ({machine.missing.get(one.tool)})": one.tool in machine.missing,
        "the host cannot be reached": not machine.reachable,
        f"windows need {one.memory} bytes, half of the memory that is available is {machine.memory_available // 2}": (
            one.memory > machine.memory_available // 2
        ),
        f"window is {one.window}; the kernel allows {machine.window_most} (net.core.{{r,w}}mem_max)": (
            one.tool in machine.by_option and one.window > machine.window_most
        ),
        f"{size} bytes arrive, {machine.free_space} are free": size > machine.free_space,
    }
    return next((text for text, holds in reasons.items() if holds), None)


def numbers(text: str) -> list[int]:
    """`1,2,4` as it is, and `1:10` with all between, or in powers of two where that is more than 64 values."""
    try:
        if ":" not in text:
            found = [int(part) for part in text.split(",")]
        else:
            least, most = (int(part) for part in text.split(":"))
            found = list(range(least, most + 1)) if most - least < 64 else list(_doubled(least, most))
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ValueError(f"{text!r} is no list of whole numbers above 0, as 1,2,4 or 1:10")
    return found


def _doubled(least: int, most: int) -> Iterator[int]:
    while least <= most:
        yield least
        least *= 2


@dataclass(frozen=True)
class Ran:
    """One run."""

    combination: Combination
    mb_s: float
    cpu_seconds_per_gb: float
    peak_bytes: int
    wh_per_tb: float


def medians(runs: Sequence[Ran]) -> dict[Combination, float]:
    """MB/s of each combination."""
    found: dict[Combination, list[float]] = {}
    for run in runs:
        found.setdefault(run.combination, []).append(run.mb_s)
    return {one: median(rates) for one, rates in found.items()}


def recommended(rates: Mapping[Combination, float], tool: str) -> Combination:
    """The least streams times window within 5 % of the best: more burns energy. Raises ValueError without a run."""
    own = {one: rate for one, rate in rates.items() if one.tool == tool}
    if not own:
        raise ValueError(f"{tool} has no run that was whole")
    least = NEAR_BEST * max(own.values())
    near = [one for one, rate in own.items() if rate >= least]
    return min(near, key=lambda one: (one.memory, one.streams))
