"""Whole times over long paths: lanes as planner and sender choose them, beside lanes that are there from the start.

The best of 8, 16 and 32 lanes, or of WDT where it is installed, is what somebody who knew the path would have asked
for. Listing, plan, growth of lanes and verification are in the time. Content is compared after each run.
"""

from functools import partial
from pathlib import Path

from bench.data_plane import files
from bench.data_plane.bench import MIB, Bench, median, say
from bench.data_plane.long_path import Shape, long_path
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.peers import wdt
from bench.data_plane.peers.programs import have
from bench.results import Result

# Jumbo frames, as EC2 has them: what a packet costs on this machine is not what is measured.
MTU = 9000
PATHS = {
    "50 ms, 2 Gbit/s": (Shape(0.05, 2000, MTU), 1024),
    "200 ms, 1 Gbit/s": (Shape(0.2, 1000, MTU), 768),
}
FIXED = (8, 16, 32)
WDT_PORTS = (8, 32)
BAR = 1.03


def run(bench: Bench) -> list[Result]:
    """Whole time over the best of the fixed lanes, for each path."""
    return [result for name, (shape, mib) in PATHS.items() for result in whole(bench, name, shape, mib)]


def whole(bench: Bench, name: str, shape: Shape, mib: int) -> list[Result]:
    """One path."""
    source = bench.folder("source")
    files.large(source, bench.size(mib * MIB, 16 * MIB))
    with long_path(bench, shape) as (sender, receiver):
        route = Route(sender, receiver)
        transfers = {"by itself": Transfer(bench, source, between_regions=True)}
        for lanes in FIXED:
            transfers[f"{lanes} lanes"] = Transfer(bench, source, lanes, has_fixed_lanes=True, between_regions=True)
        sides = {side: partial(_seconds, transfer, route) for side, transfer in transfers.items()}
        if have("wdt"):
            sides |= {f"WDT, {ports} ports": partial(_wdt, bench, source, route, ports) for ports in WDT_PORTS}
        found = {side: median(seconds) for side, seconds in bench.alternate(sides).items()}
    best = min((side for side in found if side != "by itself"), key=found.__getitem__)
    note = ", ".join(f"{side} {seconds:.2f} s" for side, seconds in found.items())
    say(f"  {name}: {note}")
    return [
        Result(f"{name}: whole time / {best} from the start", found["by itself"] / found[best], "×", BAR, note=note)
    ]


def _wdt(bench: Bench, source: Path, route: Route, ports: int) -> float:
    return wdt.move(bench, source, route.sender, route.receiver, ports).seconds


def _seconds(transfer: Transfer, route: Route) -> float:
    moved = transfer.move(route)
    transfer.check_arrived()
    return moved.planned_seconds + moved.seconds
