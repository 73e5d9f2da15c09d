"""The end of a transfer: whole time over what the caps allow, with equal paths and with one fast and three slow ones.

A slow path holds megabytes under way. A chunk that it takes last keeps everybody waiting, however fast the others are.
Times of start and handshakes are in it, so the bar is above 1.
"""

from bench.data_plane import files
from bench.data_plane.arithmetic import payload_share
from bench.data_plane.bench import Bench, median, say
from bench.data_plane.cases.caps import MTU, Setting, capped
from bench.data_plane.ours import Route, Transfer
from bench.results import Result

SETTINGS = (
    Setting("100 and 3 x 10 MB/s", (100, 200), 300, [(10, 160)] * 3),
    Setting("4 x 20 MB/s", (20, 160), 160, [(20, 160)] * 3),
)
BAR = 1.08


def run(bench: Bench) -> list[Result]:
    """Seconds over the fluid bound, for each setting."""
    return [_measure(bench, setting) for setting in SETTINGS]


def _measure(bench: Bench, setting: Setting) -> Result:
    size = int(setting.allowed * 1e6) * bench.size(8, 3)
    source = bench.folder("source")
    files.large(source, size)
    bound = size / 1e6 / (setting.allowed * payload_share(MTU))
    seconds = []
    for number in range(bench.runs):
        say(f"  {setting.name}, run {number + 1} of {bench.runs}")
        with capped(setting) as net:
            pairs = [(net[f"near{pair}"], net[f"far{pair}"]) for pair in range(len(setting.relays))]
            seconds.append(Transfer(bench, source).move(Route(net["sender"], net["receiver"], pairs)).seconds)
    note = f"{median(seconds):.2f} s; the caps allow {bound:.2f} s"
    return Result(f"tail, {setting.name}", median(seconds) / bound, "x", BAR, "lower", note)
