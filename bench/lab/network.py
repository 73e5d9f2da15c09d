"""The emulated network itself: the rate that it carries, how late it is beside its delay, the processor it needs."""

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import quantiles

from bench.data_plane.long_path import Shape, long_path
from bench.data_plane.network import Node
from bench.data_plane.peers import iperf
from bench.data_plane.peers.programs import have
from bench.data_plane.process import BenchError, running, until
from bench.lab.experiment import Experiment, Figure, Found, Lab
from bench.plots import BLACK, BLUE, Curve, Panel, Plot
from bench.results import Result, say

MBIT = (100, 200, 400, 800, 1600)
MTU_WIDE, MTU = 9000, 1500
"""Beyond 400 Mbit/s the experiments have jumbo frames, as EC2 does."""
ROUND_TRIP, STREAMS, SECONDS, OMIT = 0.05, 8, 6, 2
PINGS, GAP, PORT = 500, 0.01, 4810
LOSS, JITTER = 0.02, 0.005


def measure(lab: Lab) -> Mapping[str, Found]:
    """Rates with eight streams; round trips while nothing else is under way, also with loss and jitter."""
    rows: list[Result] = []
    shares, cores = [], []
    rates = MBIT[:1] if lab.smoke else MBIT
    for mbit in rates:
        shape = Shape(ROUND_TRIP, mbit, MTU if mbit <= 400 else MTU_WIDE, seed=lab.seed)
        with lab.cell(f"{mbit} Mbit/s"), long_path(lab.bench, shape) as (sender, receiver):
            if not have("iperf3"):
                raise BenchError("the network's rate is measured by iperf3")
            seconds, omit = (1, 0) if lab.smoke else (SECONDS, OMIT)
            before = _forwarder_cpu()
            link = iperf.measure(lab.bench, sender, receiver, STREAMS, seconds, omit)
            used = (_forwarder_cpu() - before) / (seconds + omit)
        shares.append(link.bytes_per_second * 8 / 1e6 / mbit)
        cores.append(used)
        note = f"{link.bytes_per_second / 1e6:.1f} MB/s; the forwarder uses {used:.2f} of a processor"
        rows.append(Result(f"{mbit} Mbit/s: payload over rate", shares[-1], "", 0.9, "higher", note))
        say(f"  {mbit} Mbit/s: {note}")
    trips = {
        "delay alone": _trips(lab, Shape(ROUND_TRIP, 100, seed=lab.seed)),
        "with jitter": _trips(lab, Shape(ROUND_TRIP, 100, jitter=JITTER, seed=lab.seed)),
        "with loss": _trips(lab, Shape(ROUND_TRIP, 100, loss=LOSS, seed=lab.seed)),
    }
    added = [1e3 * (trip - ROUND_TRIP) for trip in trips["delay alone"]]
    rows.append(Result("added to a round trip, median", quantiles(added, n=100)[49], "ms", 1))
    rows.append(Result("added to a round trip, 99 % within", quantiles(added, n=100)[98], "ms", 5))
    spread = [1e3 * (trip - ROUND_TRIP) for trip in trips["with jitter"]]
    note = f"5 ms each way: 0 to 10 ms, mean 5; most {max(spread):.1f} ms"
    rows.append(Result("jitter of 5 ms each way: mean added", sum(spread) / len(spread), "ms", note=note))
    pings = _pings(lab)
    lost = 100 * (1 - len(trips["with loss"]) / pings)
    rows.append(Result("loss of 2 % one way: measured", lost, "%", note=f"of {pings} packets"))
    panels = [
        Panel("rate", "Mbit/s asked for", "payload over rate", [Curve("8 streams", rates, shares, BLUE, "o-")]),
        Panel("forwarder", "Mbit/s asked for", "processors", [Curve("forwarder", rates, cores, BLACK, "o-")]),
    ]
    plot = Plot("network", "The emulated network", panels, "50 ms; 1 500 bytes a packet up to 400 Mbit/s, then 9 000.")
    return {"network": Found(rows, [plot], "", lab.invalid)}


def _pings(lab: Lab) -> int:
    return PINGS // 25 if lab.smoke else PINGS


def _trips(lab: Lab, shape: Shape) -> Sequence[float]:
    """Seconds of each round trip."""
    with long_path(lab.bench, shape) as (sender, receiver):
        return _ping(lab, sender, receiver, _pings(lab))


def _ping(lab: Lab, sender: Node, receiver: Node, count: int) -> list[float]:
    """Packets of UDP there and back, one each hundredth of a second."""
    program = [sys.executable, "-m", "bench.lab.network"]
    log = lab.bench.work / "trips.log"
    with running([*program, "echo", receiver.address], lab.bench.work / "echo.log", receiver) as echo:
        until(lambda: b"ready" in (lab.bench.work / "echo.log").read_bytes(), "the echo", [echo])
        with running([*program, "trips", receiver.address, str(count)], log, sender) as asks:
            asks.wait(120)
    found: list[float] = json.loads(log.read_text())
    if len(found) < count // 2:
        raise BenchError(f"{len(found)} of {count} packets came back")
    return found


def echo(address: str) -> None:
    """Give every packet back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind((address, PORT))
        print("ready", flush=True)
        while True:
            here.sendto(*here.recvfrom(64))


def trips(address: str, count: str) -> None:
    """Seconds of each round trip of those packets that come back within a second of the last one."""
    found, stamp = [], struct.Struct("!d")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.connect((address, PORT))
        here.settimeout(GAP)
        for number in range(int(count) + int(1 / GAP)):
            due = time.monotonic() + GAP
            if number < int(count):
                here.send(stamp.pack(time.monotonic()))
            while (left := due - time.monotonic()) > 0:
                here.settimeout(left)
                with suppress(TimeoutError):
                    found.append(-stamp.unpack(here.recv(64))[0] + time.monotonic())
    print(json.dumps(found))


def _forwarder_cpu() -> float:
    """CPU seconds so far of the one forwarder of this world."""
    ticks = os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and b"\0long-path\0" in (folder / "cmdline").read_bytes():
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / ticks
    raise BenchError("there is no forwarder")


EXPERIMENT = Experiment(
    [Figure("network", "ours", "The emulated network: rate, added delay, processor")],
    measure,
    minutes=2,
)

if __name__ == "__main__":
    if sys.argv[1] == "echo":
        echo(sys.argv[2])
    trips(sys.argv[2], sys.argv[3])
