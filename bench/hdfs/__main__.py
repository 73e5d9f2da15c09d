"""`make bench-hdfs`: CPT beside DistCp, from one real Hadoop to another one."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.data_plane.process import BenchError
from bench.figures.hdfs import ADDED
from bench.hdfs import counts, pairs, small, timelines
from bench.hdfs.network import Rates
from bench.hdfs.site import BEST, Site, site
from bench.machine import unmet, workspace
from bench.options import count, names_among
from bench.results import OUT, Result, measured, publish
from local.hadoop.errors import HadoopError, HadoopMissingError

FAILURES = (BenchError, HadoopError, TimeoutError)
COUNTS = {32: (1, 2, 4, 7, 8, 16), 64: (1, 7, 8, 16)}
"""Numbers of files by their size in MiB."""
QUICK_COUNTS = (1, 2)
SMALL_FILES, QUICK_SMALL_FILES = 10_000, 500
TIMELINES = (2, 12)
KIND_FILES = (2, 8, 16)
FILE_MIB, PAIRED_FILES, PAIRS = 32, 12, (0, 1, 2, 4)
RATES = Rates()
HADOOP = "3.4.3"


@dataclass
class Run:
    """What all cases share, and the series that they leave."""

    site: Site
    runs: int
    quick: bool
    series: dict[str, Any] = field(default_factory=dict)


def files_of(size_mib: int, run: Run) -> list[Result]:
    """Figure 6.5 for one size of files."""
    numbers = QUICK_COUNTS if run.quick else COUNTS[size_mib]
    found = counts.measure(run.site, RATES, size_mib, numbers, run.runs)
    run.series[f"6.5 {size_mib}"] = found.document()
    return counts.verdicts(found)


def by_pairs(run: Run) -> list[Result]:
    """Figure 6.9: what pairs gain, and the fewest with which CPT is no slower than DistCp of the same run."""
    files = 2 if run.quick else PAIRED_FILES
    wanted = [(files, number, pairs.LIKE_WORKERS) for number in ((0, 1) if run.quick else PAIRS)]
    points = pairs.measure(run.site, RATES, FILE_MIB, wanted)
    paths = run.site.files(FILE_MIB, files)
    beside = {
        tool: run.site.distcp(paths, "beside", options).seconds
        for tool, options in ((counts.THEIR_STOCK, counts.stock(RATES)), (counts.THEIR_BEST, BEST))
    }
    run.series["6.9"] = {"points": pairs.documents(points), "distcp": beside}
    rows = pairs.gains(points)
    for tool, seconds in beside.items():
        found = pairs.fewest(points, {files: seconds})[files]
        note = f"{seconds:.1f} s; " + ", ".join(f"{point.pairs}: {point.seconds:.1f} s" for point in points)
        measured_pairs = float("nan") if found is None else found
        rows.append(Result(f"6.9: {files} files, p against {tool}, whole", measured_pairs, "pairs", note=note))
    return rows


def by_kind(run: Run) -> list[Result]:
    """Figure 6.8: two pairs of relays like workers, and two that are too small for Hadoop."""
    numbers = (1, 2) if run.quick else KIND_FILES
    wanted = [(files, ADDED, kind) for files in numbers for kind in pairs.TYPES]
    points = pairs.measure(run.site, RATES, FILE_MIB, wanted)
    run.series["6.8"] = pairs.documents(points)
    return pairs.money(points)


def small_files(run: Run) -> list[Result]:
    """Many small files."""
    found = small.measure(run.site, QUICK_SMALL_FILES if run.quick else SMALL_FILES, run.runs)
    run.series["small"] = found.document()
    return small.verdicts(found)


def staged(run: Run) -> list[Result]:
    """Figures 6.6 and 6.7: the parts of the staged mode."""
    few, many = (1, 2) if run.quick else TIMELINES
    paths = run.site.files(FILE_MIB, many)
    tools = {counts.THEIR_STOCK: counts.stock(RATES), counts.THEIR_BEST: BEST}
    lines = [timelines.measure(run.site, paths[:files], tools, timelines.by_hand) for files in (few, many)]
    run.series["6.6"], run.series["6.7"] = (line.document() for line in lines)
    return timelines.verdicts(*lines)


CASES: dict[str, Callable[[Run], list[Result]]] = {
    "files": partial(files_of, 32),
    "larger-files": partial(files_of, 64),
    "pairs": by_pairs,
    "kinds": by_kind,
    "staged": staged,
    "small": small_files,
}


def main() -> int:
    """Run the cases on one pair of clusters, and publish each one's rows; the series go to a file of their own."""
    parser = argparse.ArgumentParser(prog="make bench-hdfs ARGS=", description=__doc__)
    parser.add_argument("--cases", type=names_among(CASES), default=[*CASES])
    parser.add_argument("--runs", type=count, default=1, help="of each point; medians count")
    parser.add_argument("--quick", action="store_true", help="tries the harness; its numbers mean nothing")
    options = parser.parse_args()
    if lacks := unmet():
        raise SystemExit(f"bench-hdfs: {'; '.join(lacks)}")
    status = 0
    try:
        with workspace("cpt-hdfs-") as work, site(work, RATES) as clusters:
            run = Run(clusters, options.runs, options.quick)
            for name in options.cases:
                rows = measured(name, partial(CASES[name], run), FAILURES)
                keep(run.series)
                status |= publish(f"hdfs-{name}", rows, f"make bench-hdfs ARGS='--cases {name}'", {"Hadoop": HADOOP})
    except HadoopMissingError as missing:
        raise SystemExit(f"bench-hdfs: {missing}") from missing
    return status


def keep(series: dict[str, Any]) -> None:
    """Put the series of this run in the place of those of the same cases; those of other cases stay."""
    path = OUT / "hdfs-series.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    OUT.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**known, **series}, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
