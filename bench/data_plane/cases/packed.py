"""A log and random bytes, packed where that pays and as they are, over links of several rates.

The time is that of the whole transfer. Nothing is packed over the fastest link, nor of random bytes. There the bar is
that trying costs nothing that could be measured; a log over a slow link has to gain.
"""

from collections.abc import Callable
from pathlib import Path

from bench.data_plane import files
from bench.data_plane.bench import Bench, median, say
from bench.data_plane.cases.caps import Setting, capped
from bench.data_plane.network import Network, network
from bench.data_plane.ours import Route, Transfer
from bench.results import Result

NODES = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}
LINKS = (20, 100, 400)
SECONDS = 8
# Without a limit: as much as a disk in memory and two cores move in a second or two.
UNLIMITED_BYTES = 1 << 30
GAIN_BAR, COST_BAR = 2.0, 0.95
CONTENTS: dict[str, Callable[[Path, int], None]] = {"log": files.log, "random": files.large}


def run(bench: Bench) -> list[Result]:
    """How many times as fast as unpacked."""
    results = []
    for content, make in CONTENTS.items():
        for link in LINKS:
            source, size = bench.folder("source"), int(link * 1e6) * bench.size(SECONDS, 2)
            make(source, size)
            with capped(Setting(f"{link} MB/s", (link, link), link, ())) as net:
                results.append(
                    _measure(bench, source, net, f"{content}, {link} MB/s", content == "log" and link <= LINKS[0])
                )
        source = bench.folder("source")
        make(source, bench.size(UNLIMITED_BYTES, 64 << 20))
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
