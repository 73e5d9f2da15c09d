"""The dissertation's transfers with real bytes at 1:30: sizes by pairs by ways, and what follows from them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.data_plane import files
from bench.lab import staged, wan
from bench.lab.experiment import Lab
from bench.plots import BLACK, COLOURS, Curve, Panel
from bench.results import Result, say
from lambdas.core.models.models import MODELS, ModelName, Parameters

SEQUENTIAL, EQUATION, BY_CHUNK, BASIC, CPT = (
    "sequential",
    "relays store their share",
    "relays store chunks",
    "basic",
    "CPT",
)
MODEL_OF: Mapping[str, ModelName] = {
    SEQUENTIAL: "sequential",
    EQUATION: "piped",
    BASIC: "basic",
    CPT: "zero-wait",
}
"""Relays that pass a chunk on as it is whole have no model in the dissertation."""
Seconds = Mapping[tuple[str, float, int], float]
"""Of way, GB and pairs, on the paper's scale."""


@dataclass(frozen=True)
class Grid:
    """Machines of one type, MB/s and seconds, and what is moved between them."""

    inter: float
    intra: float
    spawn_seconds: float
    split: float
    gb_bytes: int
    """1 000 MB or 1 024 MB: the chapters differ."""
    sizes: Sequence[float]
    pairs: Sequence[int]
    ways: Sequence[str]

    def model(self, way: str, size: float, pairs: int) -> float:
        """Seconds."""
        at = Parameters.uniform(
            size * self.gb_bytes / 1e6,
            pairs,
            inter=self.inter,
            intra=self.intra,
            spawn_seconds=self.spawn_seconds,
            split=self.split,
        )
        return MODELS[MODEL_OF[way]](at)

    def modelled(self) -> Seconds:
        """All that has a model."""
        found = {(SEQUENTIAL, size, 0): self.model(SEQUENTIAL, size, 0) for size in self.sizes}
        for way in self.ways:
            if way in MODEL_OF:
                found |= {(way, size, p): self.model(way, size, p) for size in self.sizes for p in self.pairs}
        return found

    def few(self) -> "Grid":
        """A grid that tries the experiment."""
        return replace(self, spawn_seconds=15, sizes=(0.25,), pairs=self.pairs[:1])

    def measure(self, lab: Lab) -> Seconds:
        """One run of each point."""
        source = lab.bench.folder("source")
        bytes_of = {size: int(size * self.gb_bytes / wan.SCALE) for size in self.sizes}
        files.large(source, max(bytes_of.values()))
        lab.bench.warm()
        seconds: dict[tuple[str, float, int], float] = {}
        for size in sorted(self.sizes, reverse=True):
            # The largest first: each is cut from the one before.
            os.truncate(source / "large", bytes_of[size])
            with wan.regions(self.inter, self.intra, max(self.pairs)) as (ends, pairs):
                for (way, number), run in self._runs(lab, source, ends, pairs).items():
                    name = f"{size:g} GB, {way}, p = {number}"
                    with lab.cell(name):
                        seconds[way, size, number] = wan.SCALE * run()
                    say(f"  {name}: {seconds[way, size, number]:.0f} s of the paper's")
        return seconds

    def _runs(
        self, lab: Lab, source: Path, ends: wan.Ends, pairs: wan.Pairs
    ) -> Mapping[tuple[str, int], Callable[[], float]]:
        straight = partial(staged.move, lab.bench, source, ends)
        after = self.spawn_seconds / wan.SCALE
        runs: dict[tuple[str, int], Callable[[], float]] = {
            (SEQUENTIAL, 0): partial(straight, (), chunks=1, hold=1, after=0.0)
        }
        for number in self.pairs:
            some = pairs[:number]
            stored = partial(straight, some, chunks=3 * number, after=after)
            ways = {
                EQUATION: partial(stored, hold=3),
                BY_CHUNK: partial(stored, hold=1),
                BASIC: partial(stored, hold=3, split=self.split),
                CPT: partial(wan.as_cpt, lab.bench, source, ends, some, after),
            }
            runs |= {(way, number): ways[way] for way in self.ways}
        return runs

    def wins_from(self, seconds: Seconds, way: str, pairs: int) -> float:
        """GB from which relays are faster for good, on a line between two sizes; infinite: never, 0: always."""
        gains = [seconds[SEQUENTIAL, size, 0] - seconds[way, size, pairs] for size in self.sizes]
        if gains[-1] <= 0:
            return float("inf")
        last = max((at for at, gain in enumerate(gains) if gain <= 0), default=None)
        if last is None:
            return 0.0
        lost, won, begin, end = gains[last], gains[last + 1], self.sizes[last], self.sizes[last + 1]
        return begin + (end - begin) * -lost / (won - lost)

    def off(self, seconds: Seconds, way: str) -> Result:
        """How far the way's times are off its model, 90 % of them."""
        off = sorted(
            (abs(seconds[way, size, p] / self.model(way, size, p) - 1), f"{size:g} GB, p = {p}")
            for size in self.sizes
            for p in self.pairs
        )
        value, (worst, where) = off[int(0.9 * (len(off) - 1))][0], off[-1]
        note = f"worst {100 * worst:.1f} %, {where}; model: {MODEL_OF[way]}"
        return Result(f"{way}: off the model, p90", 100 * value, "%", 10, note=note)

    def crossovers(self, seconds: Seconds) -> list[Result]:
        """From which size each way wins, and beside it the equations'."""
        modelled, rows = self.modelled(), []
        for way in self.ways:
            for p in self.pairs:
                theirs = self.wins_from(modelled, way, p) if way in MODEL_OF else None
                note = "" if theirs is None else f"model {theirs:.2f} GB"
                rows.append(Result(f"{way}: wins with p = {p} from", self.wins_from(seconds, way, p), "GB", note=note))
        return rows

    def panels(self, value: Callable[[Seconds, str, float, int], float], seconds: Seconds, label: str) -> list[Panel]:
        """One for each way, with its model dotted."""
        modelled = self.modelled()
        panels = []
        for way in self.ways:
            straight = [value(seconds, SEQUENTIAL, size, 0) for size in self.sizes]
            curves = [Curve(SEQUENTIAL, list(self.sizes), straight, BLACK, "o-")]
            for p, colour in zip(self.pairs, COLOURS, strict=False):
                points = [value(seconds, way, size, p) for size in self.sizes]
                curves.append(Curve(f"p = {p}", list(self.sizes), points, colour, "o-"))
                if way in MODEL_OF:
                    dots = [value(modelled, way, size, p) for size in self.sizes]
                    curves.append(Curve(f"p = {p}, model", list(self.sizes), dots, colour, ":"))
            panels.append(Panel(way, "GB", label, curves))
        return panels


def time(seconds: Seconds, way: str, size: float, pairs: int) -> float:
    """T, seconds."""
    return seconds[way, size, pairs]


def speedup(seconds: Seconds, way: str, size: float, pairs: int) -> float:
    """S = T_seq / T (4.2)."""
    return seconds[SEQUENTIAL, size, 0] / seconds[way, size, pairs]
