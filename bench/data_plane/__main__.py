"""`make bench-data-plane`: the table of the data plane's speed, ours and the peers side by side."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from bench.data_plane import isolation
from bench.data_plane.bench import Bench, say
from bench.data_plane.cases import (
    beside,
    beside_wdt,
    caps,
    cold_small,
    cold_source,
    datasets,
    durability,
    idle,
    large_direct,
    large_pair,
    long_fat,
    long_paths,
    memory,
    packed,
    proofs,
    relay_cpu,
    shared_paths,
    small_files,
    tail,
)
from bench.data_plane.network import NetworkError
from bench.data_plane.peers import programs
from bench.data_plane.process import BenchError
from bench.options import names_among
from bench.results import Result, measured, publish

CASES: dict[str, Callable[[Bench], list[Result]]] = {
    "large-direct": large_direct.run,
    "large-pair": large_pair.run,
    "relay-cpu": relay_cpu.run,
    "small-files": small_files.run,
    "caps": caps.run,
    "tail": tail.run,
    "long-fat": long_fat.run,
    "memory": memory.run,
    "packed": packed.run,
    "cold-source": cold_source.run,
    "idle": idle.run,
}
DATASETS = {name: partial(datasets.run, name) for name in datasets.DATASETS} | {
    "cold-small": cold_small.run,
    "durability": durability.run,
    "proofs": proofs.run,
    "beside-wdt": beside_wdt.run,
    "long-paths": lambda bench: [*long_paths.run(bench), *shared_paths.run(bench)],
}
FAILURES = (BenchError, NetworkError, OSError, ValueError)
QUIET_LOAD = 0.5
DAEMON = Path("relay-ami/relay/target/release/cpt-laboratory")
TOOLS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "setpriv": "util-linux"}


def main(arguments: Sequence[str]) -> int:
    """Check, go into a world of our own, run, publish."""
    options = parse(arguments)
    if not isolation.inside():
        found = problems(options.daemon, *([options.beside] if options.beside else []))
        for problem in found:
            say(f"bench-data-plane: {problem}")
        return 2 if found else isolation.enter(arguments)
    runs = 1 if options.quick else options.runs
    daemon, work = options.daemon.resolve(), isolation.prepare()
    say(programs.NO_SKYPLANE)
    if (load := os.getloadavg()[0]) > QUIET_LOAD:
        say(f"the machine is busy (load {load:.1f}): whoever computes beside us distorts the ratios")
    bench = Bench(daemon, work, runs, options.quick, options.lanes, options.chunk_mib)
    if options.beside:
        other = options.beside.resolve()
        results = measured("beside", lambda: beside.run(bench, other), FAILURES)
    else:
        cases = CASES | DATASETS
        results = [result for name in options.cases for result in measured(name, partial(cases[name], bench), FAILURES)]
    command = " ".join(["python -m bench.data_plane", *arguments]) if arguments else "make bench-data-plane"
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    missed = programs.missed()
    results += [Result(f"beside {peer.name}", 0, "rows", note=f"not measured: {peer.install}") for peer in missed]
    return publish("data-plane", results, command, programs.versions()) or (2 if missed else 0)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m bench.data_plane", description=__doc__)
    parser.add_argument("--daemon", type=Path, default=DAEMON, help="the program to measure")
    parser.add_argument(
        "--cases",
        type=names_among(CASES | DATASETS),
        default=list(CASES),
        help=f"of {','.join(CASES)}, which are the default, and {','.join(DATASETS)}",
    )
    parser.add_argument("--beside", type=Path, help="another build: measure the two in turn, and nothing else")
    parser.add_argument("--runs", type=int, default=3, help="of each side; medians count")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, one run: tries the harness, measures nothing"
    )
    parser.add_argument("--lanes", type=int, help="per path; by default the planner's")
    parser.add_argument("--chunk-mib", type=int, help="of a large file; by default the planner's")
    parser.add_argument("--json", action="store_true", help="print the results as JSON too")
    return parser.parse_args(arguments)


def problems(*daemons: Path) -> list[str]:
    """Why it cannot run here."""
    found = [] if os.geteuid() == 0 else ["network namespaces need root; run it with sudo"]
    missing = {package for tool, package in TOOLS.items() if shutil.which(tool) is None}
    found += [f"not installed: apt-get install {package}" for package in sorted(missing)]
    return found + [
        f"{daemon} is missing: make bench-data-plane builds it" for daemon in daemons if not daemon.exists()
    ]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
