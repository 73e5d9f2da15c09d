"""What the papers tune: pipelining, parallelism and concurrency, from the sizes of files and the path's BDP. Pure.

BDP is bandwidth times round trip, in bytes, as all sizes. Pipelining: further files that are sent before the first is
confirmed. Parallelism: streams of one file. Concurrency: files at once. What the paper leaves out is marked as *ours*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import ceil

MIN_CHUNK_BDPS = 10
"""Ours: RCD divides nothing that is shorter than twice so many BDPs."""
MOST_PIPELINING = 64
"""Ours; GridFTP's own is 20."""
GROWS = 1.05
"""Ours: a rate that is better by less did not grow."""
CHANNELS = 32
"""MC's, in the paper's runs."""
MOST_PARALLELISM = 8
MB = 1_000_000


@dataclass(frozen=True)
class Setting:
    """How some files are moved."""

    pipelining: int
    parallelism: int = 1
    concurrency: int = 1


@dataclass(frozen=True)
class Chunk:
    """Files, by their sizes, and how they are moved."""

    sizes: tuple[int, ...]
    setting: Setting

    @property
    def bytes(self) -> int:
        """In all."""
        return sum(self.sizes)


def rcd(
    sizes: Sequence[int], bdp: float, *, min_chunk: float | None = None, most: int = MOST_PIPELINING
) -> list[Chunk]:
    """Recursive chunk division: halves at the mean, as long as pipelining changes and enough bytes are left.

    The paper's second call is printed as (k + 1 -> start), which cannot be meant. It says neither what a whole chunk at
    the root gets nor how pipelining is rounded: ours are the pipelining of its mean, and upwards.
    """
    ordered = tuple(sorted(sizes))
    if not ordered:
        return []
    least = MIN_CHUNK_BDPS * bdp if min_chunk is None else min_chunk

    def wanted(some: Sequence[int]) -> int:
        return max(1, ceil(bdp * len(some) / max(sum(some), 1)))

    def divide(some: tuple[int, ...], parent: int | None) -> list[Chunk]:
        pipelining = wanted(some)
        mean = sum(some) / len(some)
        small = tuple(takewhile(lambda size: size <= mean, some))
        if (
            pipelining not in (1, parent)
            and pipelining <= most
            and 1 < len(small) < len(some)
            and sum(some) > 2 * least
        ):
            return divide(small, pipelining) + divide(some[len(small) :], pipelining)
        return [Chunk(some, Setting(min(max(parent or pipelining, 1), most)))]

    return divide(ordered, None)


@dataclass(frozen=True)
class Growing:
    """PCP's state: the setting of the next chunk, and what the last one showed.

    One knob doubles while the rate grows; then the better value stays, and the next knob takes its turn.
    """

    setting: Setting
    knobs: tuple[str, ...]
    best: float = 0.0
    kept: Setting | None = None
    most: int = CHANNELS

    def after(self, rate: float) -> "Growing":
        """The state after a chunk that was moved at `rate`."""
        if not self.knobs:
            return self
        if rate > self.best * GROWS:
            return self._doubled(self.setting, self.knobs, rate)
        better = self.kept or self.setting
        if len(self.knobs) > 1:
            return self._doubled(better, self.knobs[1:], self.best)
        return replace(self, setting=better, knobs=())

    def _doubled(self, kept: Setting, knobs: tuple[str, ...], best: float) -> "Growing":
        value = getattr(kept, knobs[0]) * 2
        bound = MOST_PARALLELISM if knobs[0] == "parallelism" else self.most
        if value > bound:
            return Growing(kept, (), best, kept) if len(knobs) == 1 else self._doubled(kept, knobs[1:], best)
        return Growing(replace(kept, **{knobs[0]: value}), knobs, best, kept)


@dataclass(frozen=True)
class Phase:
    """One of PCP's two sets: its chunks, and where growing begins."""

    chunks: tuple[Chunk, ...]
    begins: Growing


def pcp(sizes: Sequence[int], bdp: float) -> list[Phase]:
    """Small files by RCD with growing concurrency, then the others with growing parallelism, then concurrency."""
    small, others = (tuple(sorted(size for size in sizes if (size < bdp) is is_small)) for is_small in (True, False))
    phases = []
    if small:
        phases.append(Phase(tuple(rcd(small, bdp)), Growing(Setting(1), ("concurrency",))))
    if others:
        whole = Chunk(others, Setting(2))
        phases.append(Phase((whole,), Growing(Setting(2), ("parallelism", "concurrency"))))
    return phases


@dataclass(frozen=True)
class Class:
    """Files of MC that are moved alike, all classes at the same time."""

    name: str
    sizes: tuple[int, ...]
    setting: Setting


def mc(sizes: Sequence[int], bdp: float, buffer: float, channels: int = CHANNELS) -> list[Class]:
    """Many channels from the start, shared by classes in proportion to their bytes. All but their number is ours."""
    bounds = {
        "small": (0.0, bdp / 10),
        "medium": (bdp / 10, bdp),
        "large": (bdp, 20 * bdp),
        "huge": (20 * bdp, float("inf")),
    }
    classes = {name: tuple(s for s in sorted(sizes) if low <= s < high) for name, (low, high) in bounds.items()}
    some = {name: files for name, files in classes.items() if files}
    shares = _shares({name: sum(files) for name, files in some.items()}, channels)
    found = []
    for name, files in some.items():
        mean = sum(files) / len(files)
        streams = min(ceil(bdp / buffer), ceil(mean / buffer), MOST_PARALLELISM)
        found.append(Class(name, files, Setting(max(1, ceil(bdp / max(mean, 1))), max(1, streams), shares[name])))
    return found


def _shares(weights: dict[str, int], channels: int) -> dict[str, int]:
    """Whole channels in proportion, one at least; the largest remainders get what is left."""
    free, whole = channels - len(weights), sum(weights.values()) or 1
    exact = {name: free * weight / whole for name, weight in weights.items()}
    given = {name: int(share) for name, share in exact.items()}
    for name in sorted(exact, key=lambda one: given[one] - exact[one])[: free - sum(given.values())]:
        given[name] += 1
    return {name: share + 1 for name, share in given.items()}


def globus(sizes: Sequence[int], scale: float = 1.0) -> Setting:
    """Globus Online's static settings, of files `scale` times as large as these."""
    mean = scale * sum(sizes) / max(len(sizes), 1)
    if len(sizes) > 100 and mean < 50 * MB:
        return Setting(20, 2, 2)
    return Setting(5, 8, 2) if mean > 250 * MB else Setting(10, 4, 2)
