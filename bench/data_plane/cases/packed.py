"""A log and random bytes, packed where that pays and as they are, over links of several rates.

The time is that of the whole transfer. Nothing is packed over the fastest link, nor of random bytes. There the bar is
that trying costs nothing that could be measured; a log over a slow link has to gain.
"""

from collections.abc import Callable
from pathlib import Path

from bench.data_plane import files
from bench.data_plane.bench import Bench, median, say
from bench.data_plane.cases.caps import MTU
from bench.data_plane.network import Network, command, network
from bench.data_plane.ours import Route, Transfer
from bench.results import Result
from local.caps import Caps
from local.instances.shaping import link_commands

NODES = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}
LINKS = (20, 100, 400)
SECONDS = 8
# What a disk in memory has room for, twice.
MOST_BYTES = 1 << 30
GAIN_BAR, COST_BAR = 2.0, 0.9
CONTENTS: dict[str, Callable[[Path, int], None]] = {"log": files.log, "random": files.large}


def run(bench: Bench) -> list[Result]:
    """How many times as fast as unpacked."""
    results = []
    for content, make in CONTENTS.items():
        for link in LINKS:
            source, size = bench.folder("source"), min(int(link * 1e6) * bench.size(SECONDS, 2), MOST_BYTES)
            make(source, size)
            with network(NODES, MTU) as net:
                for line in link_commands(Caps.of(link, link), "eth0", "dst", []):
                    command("tc", "-n", net["sender"].namespace, *line)
                results.append(
                    _measure(bench, source, net, f"{content}, {link} MB/s", content == "log" and link <= LINKS[0])
                )
        source = bench.folder("source")
        make(source, bench.size(MOST_BYTES, 64 << 20))
        with network(NODES) as net:
            results.append(_measure(bench, source, net, f"{content}, unlimited", gains=False))
    return results


def _measure(bench: Bench, source: Path, net: Network, name: str, gains: bool) -> Result:
    say(f"  {name}")
    route = Route(net["sender"], net["receiver"])
    sides = {kind: Transfer(bench, source, compress=kind == "auto") for kind in ("never", "auto")}

    def move(side: Transfer) -> Callable[[], tuple[float, float]]:
        def timed() -> tuple[float, float]:
            moved = side.move(route)
            side.check_arrived()
            return moved.seconds, moved.ended["sender"].cpu_seconds

        return timed

    found = bench.alternate({kind: move(side) for kind, side in sides.items()})
    seconds = {kind: median([one for one, _ in values]) for kind, values in found.items()}
    cpu = {kind: median([one for _, one in values]) for kind, values in found.items()}
    note = f"{seconds['never']:.2f} s as it is, {seconds['auto']:.2f} s; "
    note += f"sender's CPU {cpu['never']:.2f} and {cpu['auto']:.2f} s"
    bar = GAIN_BAR if gains else COST_BAR
    return Result(f"packed, {name}", seconds["never"] / seconds["auto"], "×", bar, "higher", note)
