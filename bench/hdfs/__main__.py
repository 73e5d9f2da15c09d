"""`make bench-hdfs`: CPT beside DistCp, from one real Hadoop to another one."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.data_plane.process import BenchError
from bench.hdfs import counts
from bench.hdfs.network import Rates
from bench.hdfs.site import Site, site
from bench.machine import unmet, workspace
from bench.options import count, names_among
from bench.results import OUT, Result, measured, publish
from local.hadoop.errors import HadoopError, HadoopMissingError

FAILURES = (BenchError, HadoopError, TimeoutError)
COUNTS = {64: (1, 2, 4, 7, 8, 12, 16), 128: (1, 4, 7, 8, 16)}
"""Numbers of files by their size in MiB."""
QUICK_COUNTS = (1, 2)
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


CASES: dict[str, Callable[[Run], list[Result]]] = {
    "files": partial(files_of, 64),
    "larger-files": partial(files_of, 128),
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
