"""What `verify: "crc64"` brings where the processor is the limit, beside the default: on the clock and in CPU seconds.

Listing and plan are in the time; content is compared after each run.
"""

from functools import partial

from bench.data_plane import files
from bench.data_plane.bench import Bench, median
from bench.data_plane.network import network
from bench.data_plane.ours import Route, Transfer
from bench.results import Result

NODES = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}
# A BLAKE3 at each end is a fifth to a quarter of what a large file costs in all.
BARS = {"large": 1.1, "10k-small": 1.0}


def run(bench: Bench) -> list[Result]:
    """Rates and CPU time over those of the default."""
    return [result for name, bar in BARS.items() for result in beside(bench, name, bar)]


def beside(bench: Bench, name: str, bar: float) -> list[Result]:
    """One kind of files."""
    source = bench.folder("source")
    if name == "large":
        files.large(source, bench.size(2 << 30, 64 << 20))
    else:
        files.small(source, bench.size(10_000, 500), 10 << 10)
    with network(NODES) as net:
        route = Route(net["sender"], net["receiver"])
        transfers = {proof: Transfer(bench, source, verify=proof) for proof in ("digest", "crc64")}
        found = bench.alternate({proof: partial(_move, one, route) for proof, one in transfers.items()})
    seconds = {proof: median([one for one, _ in pairs]) for proof, pairs in found.items()}
    cpu = {proof: median([one for _, one in pairs]) for proof, pairs in found.items()}
    note = ", ".join(f"{proof} {seconds[proof]:.3f} s, {cpu[proof]:.3f} CPU s" for proof in found)
    rate = seconds["digest"] / seconds["crc64"]
    return [
        Result(f"{name}: rate with crc64 / with digest", rate, "×", bar, "higher", note),
        Result(f"{name}: CPU with crc64 / with digest", cpu["crc64"] / cpu["digest"], "×"),
    ]


def _move(transfer: Transfer, route: Route) -> tuple[float, float]:
    moved = transfer.move(route)
    transfer.check_arrived()
    return moved.planned_seconds + moved.seconds, sum(ended.cpu_seconds for ended in moved.ended.values())
