"""Figure 6.5, measured: time over the number of files, by CPT and by DistCp in two configurations, in one run.

CPT is a whole execution from the synthesized templates; its time runs from start-execution to the execution's end.
DistCp is timed from its command to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from bench.hdfs import arithmetic
from bench.hdfs.network import MAPS, WORKERS, Rates
from bench.hdfs.site import BEST, MIB, STOCK, Copy, Site
from bench.results import Result, say

OURS, THEIR_STOCK, THEIR_BEST = TOOLS = ("CPT", "DistCp, stock", "DistCp, at its best")
LEAST_OF_BOUND, LEAST_STEP, LEAST_STARTS = 0.95, 1.5, 3.0


@dataclass(frozen=True)
class Series:
    """Seconds of each tool by the number of files, one for each run, and T_0; for CPT those of its data as well."""

    file_mib: int
    rates: Rates
    start_seconds: dict[str, float]
    seconds: dict[str, dict[int, list[float]]]
    data_seconds: dict[int, list[float]]

    def middle(self, tool: str) -> dict[int, float]:
        """Median of the runs, by files."""
        return {files: median(runs) for files, runs in self.seconds[tool].items()}

    def moved(self, tool: str) -> dict[int, float]:
        """The same without T_0; of CPT the seconds in which data moved."""
        if tool == OURS:
            return {files: median(runs) for files, runs in self.data_seconds.items()}
        return {files: seconds - self.start_seconds[tool] for files, seconds in self.middle(tool).items()}

    def document(self) -> dict[str, Any]:
        """What is kept."""
        return asdict(self)


def measure(site: Site, rates: Rates, file_mib: int, counts: Sequence[int], runs: int) -> Series:
    """Copy so many files by each tool in turn. Raises BenchError."""
    paths = site.files(file_mib, max(counts))
    options = {THEIR_STOCK: stock(rates), THEIR_BEST: BEST}
    starts: dict[str, list[float]] = {tool: [] for tool in options}
    seconds: dict[str, dict[int, list[float]]] = {tool: {count: [] for count in counts} for tool in TOOLS}
    data: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(runs):
        for tool, asked in options.items():
            starts[tool].append(site.empty(asked))
            say(f"  {tool}: an empty file takes {starts[tool][-1]:.1f} s")
        for count in counts:
            for tool in TOOLS:
                copy = _copy(site, tool, paths[:count], options)
                seconds[tool][count].append(copy.seconds)
                if copy.data_seconds is not None:
                    data[count].append(copy.data_seconds)
                say(f"  {count} × {file_mib} MiB, {tool}: {copy.seconds:.1f} s, data {copy.data_seconds}")
    return Series(file_mib, rates, {tool: median(found) for tool, found in starts.items()}, seconds, data)


def stock(rates: Rates) -> Sequence[str]:
    """DistCp as it comes: its limit of 100 MB/s for a map is scaled as the network is."""
    return (*STOCK, "-bandwidth", f"{rates.map_mib_s:g}")


def verdicts(series: Series) -> list[Result]:
    """The bars, each with its row."""
    name = f"{series.file_mib} MiB"
    file_mb, rates = series.file_mib * MIB / 1e6, series.rates
    rows = []
    start = max(series.start_seconds.values())
    told = ", ".join(f"{tool} {seconds:.1f} s" for tool, seconds in series.start_seconds.items())
    rows.append(
        Result(f"{name}: a file by a map over T_0", file_mb / rates.map_mb_s / start, "x", LEAST_STARTS, "higher", told)
    )
    for what, times in (("whole", series.middle), ("without T_0", series.moved)):
        ratio, files = arithmetic.worst_ratio(times(OURS), times(THEIR_BEST))
        note = ", ".join(f"{n}: {times(OURS)[n]:.1f}/{times(THEIR_BEST)[n]:.1f}" for n in times(OURS))
        rows.append(
            Result(f"{name}: CPT over DistCp at its best, {what}", ratio, "x", 1, note=f"worst {files}; {note}")
        )
    most = max(series.data_seconds)
    bound = arithmetic.bound_seconds(most * file_mb, [rates.worker_mb_s] * WORKERS)
    moved = series.moved(OURS)[most]
    note = f"{most} files: {moved:.1f} s of data, {bound:.1f} s by the caps, headers included"
    rows.append(Result(f"{name}: CPT of the bound", bound / moved, "of the bound", LEAST_OF_BOUND, "higher", note))
    for tool in (THEIR_STOCK, THEIR_BEST):
        times_of = series.middle(tool)
        if {MAPS, MAPS + 1} <= times_of.keys():
            note = f"{times_of[MAPS]:.1f} s, {times_of[MAPS + 1]:.1f} s"
            bar = LEAST_STEP if tool == THEIR_STOCK else None
            step = arithmetic.step(times_of, MAPS)
            rows.append(Result(f"{name}: {tool}, {MAPS + 1} files over {MAPS}", step, "x", bar, "higher", note))
    return rows


def _copy(site: Site, tool: str, paths: Sequence[str], options: dict[str, Sequence[str]]) -> Copy:
    if tool == OURS:
        return site.ours(paths, "ours")
    return site.distcp(paths, "best" if tool == THEIR_BEST else "stock", options[tool])
