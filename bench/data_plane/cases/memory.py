"""64 lanes: the largest resident size (VmHWM) of each process, direct and through one pair of relays."""

from bench.data_plane import files
from bench.data_plane.bench import MIB, Bench
from bench.data_plane.network import network
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.process import BenchError
from bench.results import Result

NODES = {"sender": "10.0.0.1", "near": "10.0.0.2", "far": "10.1.0.2", "receiver": "10.1.0.1"}
LANES = 64
CHUNK_MIB = 8
BAR = 256


def run(bench: Bench) -> list[Result]:
    """Mebibytes of sender, receiver and relays."""
    source = bench.folder("source")
    files.large(source, bench.size(2 << 30, 64 * CHUNK_MIB * MIB))
    ours = Transfer(bench, source, lanes=LANES, chunk_mib=CHUNK_MIB)
    results = []
    with network(NODES) as net:
        routes = {
            "direct": Route(net["sender"], net["receiver"]),
            "pair": Route(net["sender"], net["receiver"], [(net["near"], net["far"])], direct=False),
        }
        for name, route in routes.items():
            moved = ours.move(route)
            if moved.lanes != LANES:
                raise BenchError(f"{name}: {moved.lanes} lanes were up at once, not {LANES}")
            for role, ended in moved.ended.items():
                peak = ended.peak_bytes / MIB
                results.append(Result(f"memory, {name}, {role}", peak, "MiB", BAR, note=f"{moved.lanes} lanes"))
    return results
