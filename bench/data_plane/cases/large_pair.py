"""The same file through one pair of relays, beside direct; all four nodes on one bridge and the same cores."""

from bench.data_plane import files
from bench.data_plane.bench import Bench, median
from bench.data_plane.network import network
from bench.data_plane.ours import Route, Transfer
from bench.results import Result

NODES = {"sender": "10.0.0.1", "near": "10.0.0.2", "far": "10.1.0.2", "receiver": "10.1.0.1"}
BAR = 0.6


def run(bench: Bench) -> list[Result]:
    """Rate through the pair as a share of the direct rate."""
    source, size = files.large_source(bench)
    ours = Transfer(bench, source)
    with network(NODES) as net:
        direct = Route(net["sender"], net["receiver"])
        pair = Route(net["sender"], net["receiver"], [(net["near"], net["far"])], direct=False)
        ours.move(pair)
        ours.check_arrived()
        moves = bench.alternate({"direct": lambda: ours.move(direct), "pair": lambda: ours.move(pair)})
    mb_s = {name: size / 1e6 / median([move.seconds for move in done]) for name, done in moves.items()}
    cpu = median([move.ended["relay-0"].cpu_seconds for move in moves["pair"]]) / size * 1e9
    note = f"pair {mb_s['pair']:.0f} MB/s, direct {mb_s['direct']:.0f} MB/s; CPU s/GB of the first relay: {cpu:.3f}"
    return [Result("large-pair / direct", mb_s["pair"] / mb_s["direct"], "", BAR, "higher", note)]
