"""iperf3: what TCP between two nodes carries, and what it costs."""

import json
from dataclasses import dataclass

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.peers.programs import require
from bench.data_plane.process import listening, running

PORT = 5201


@dataclass(frozen=True)
class Link:
    """A measured link."""

    bytes_per_second: float
    cpu_seconds_per_byte: float
    """Of client and server together."""


def measure(
    bench: Bench, sender: Node, receiver: Node, streams: int, seconds: int, omit: int = 0, port: int = PORT
) -> Link:
    """Run one client against one server; the rate leaves out the first `omit` seconds (slow start)."""
    iperf3, log = require("iperf3"), bench.work / f"iperf3-{port}.json"
    serve = [iperf3, "--server", "--one-off", "--bind", receiver.address, "--port", str(port)]
    with running(serve, bench.work / f"iperf3-server-{port}.log", receiver) as server:
        listening(receiver, port, server)
        where = ["--client", receiver.address, "--port", str(port), "--parallel", str(streams), "--time", str(seconds)]
        where += ["--omit", str(omit)]
        with running([iperf3, *where, "--json"], log, sender) as client:
            cpu = client.wait(seconds + omit + 30).cpu_seconds + server.wait(30).cpu_seconds
    total = json.loads(log.read_text())["end"]["sum_received"]
    return Link(total["bits_per_second"] / 8, cpu / total["bytes"])
