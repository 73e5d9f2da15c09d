"""CPU seconds of both ends beside WDT's, since seconds on a shared machine spread by more than the difference."""

from functools import partial
from pathlib import Path

from bench.data_plane import files
from bench.data_plane.bench import Bench, median
from bench.data_plane.network import network
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.peers import wdt
from bench.data_plane.peers.programs import have
from bench.results import Result

NODES = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}


def run(bench: Bench) -> list[Result]:
    """Ours over WDT's, for one large file and for many small ones."""
    if not have("wdt"):
        return []
    results = []
    for name in ("large", "10k-small"):
        source = bench.folder("source")
        if name == "large":
            files.large(source, bench.size(2 << 30, 64 << 20))
        else:
            files.small(source, bench.size(10_000, 500), 10 << 10)
        ours = Transfer(bench, source)
        with network(NODES) as net:
            route = Route(net["sender"], net["receiver"])
            sides = {
                "cpt": partial(_ours, ours, route),
                "wdt": partial(_wdt, bench, source, route),
            }
            found = bench.alternate(sides)
        by_us, by_them = median(found["cpt"]), median(found["wdt"])
        note = f"{by_us:.3f} s, WDT {by_them:.3f} s"
        results.append(Result(f"{name}: CPU / WDT's", by_us / by_them, "×", note=note))
    return results


def _wdt(bench: Bench, source: Path, route: Route) -> float:
    return wdt.move(bench, source, route.sender, route.receiver).cpu_seconds


def _ours(transfer: Transfer, route: Route) -> float:
    return sum(ended.cpu_seconds for ended in transfer.move(route).ended.values())
