"""Two builds of the daemon in turn: seconds and CPU of the one over those of the other."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from bench.data_plane import files
from bench.data_plane.bench import Bench
from bench.data_plane.network import Network, network
from bench.data_plane.ours import Moved, Route, Transfer
from bench.results import Result

NODES = {"sender": "10.0.0.1", "near": "10.0.0.2", "far": "10.1.0.2", "receiver": "10.1.0.1"}
BAR = 1.03


def run(bench: Bench, other: Path) -> list[Result]:
    """A large file and many small ones, direct and through a pair: this build's seconds over the other's."""
    results = []
    with network(NODES) as net:
        for data in ("large", "small-files"):
            source = bench.folder("source")
            if data == "large":
                files.large(source, bench.size(2 << 30, 64 << 20))
            else:
                files.small(source, bench.size(60_000, 500), 10 << 10)
            for way, route in _routes(net).items():
                results += _compare(f"{data}, {way}", bench, other, source, route)
    return results


def _routes(net: Network) -> dict[str, Route]:
    sender, receiver = net["sender"], net["receiver"]
    return {
        "direct": Route(sender, receiver),
        "pair": Route(sender, receiver, [(net["near"], net["far"])], direct=False),
    }


def _compare(case: str, bench: Bench, other: Path, source: Path, route: Route) -> list[Result]:
    builds = {"this": Transfer(bench, source), "other": Transfer(replace(bench, daemon=other), source)}
    for build in builds.values():
        build.move(route)
        build.check_arrived()
    moves = bench.alternate({name: partial(build.move, route) for name, build in builds.items()})
    pairs = list(zip(moves["this"], moves["other"], strict=True))
    seconds = [this.seconds / other.seconds for this, other in pairs]
    cpu = [_cpu_seconds(this) / _cpu_seconds(other) for this, other in pairs]
    note = f"{median(move.seconds for move in moves['this']):.2f} s; ratios {min(seconds):.2f} to {max(seconds):.2f}"
    return [
        Result(f"{case}: seconds / other's", median(seconds), "×", BAR, note=note),
        Result(f"{case}: CPU / other's", median(cpu), "×", note="all processes"),
    ]


def _cpu_seconds(moved: Moved) -> float:
    return sum(process.cpu_seconds for process in moved.ended.values())
