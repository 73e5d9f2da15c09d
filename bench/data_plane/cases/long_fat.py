"""100 ms round trip, send buffers of at most 212 992 bytes, 200 Mbit/s: does the daemon take enough lanes by itself?

`--lanes` is not given, neither to plan nor to send. The limit on buffers is the sender's `tcp_wmem`, which belongs to
its network namespace; `wmem_max` is the whole machine's, and would bind only who sets SO_SNDBUF, as ours does not.
The rate is of payload, from the receiver's device between 20 and 90 % of the bytes.
"""

import time

from bench.data_plane import files
from bench.data_plane.arithmetic import payload_share, steady_rate
from bench.data_plane.bench import Bench, say
from bench.data_plane.long_path import Shape, long_path
from bench.data_plane.network import connections, received
from bench.data_plane.ours import PORT, Route, Transfer
from bench.data_plane.peers import iperf
from bench.data_plane.peers.programs import have
from bench.data_plane.process import Program
from bench.results import Result

ROUND_TRIP = 0.1
MBIT = 200
SEND_BUFFERS = "4096 16384 212992"
MTU = 1500
IPERF_STREAMS = 64
MOST_SECONDS = 60
BAR = 0.9


class EnoughError(Exception):
    """The transfer is so slow that its rate is known long before its end."""


def run(bench: Bench) -> list[Result]:
    """Payload rate as a share of the shaped rate; iperf3 with many streams shows what the path itself carries."""
    source = bench.folder("source")
    size = bench.size(600_000_000, 20_000_000)
    files.large(source, size)
    shaped, results = MBIT / 8 * 1e6, []
    with long_path(bench, Shape(ROUND_TRIP, MBIT, MTU)) as (sender, receiver):
        sender.sysctl("net.ipv4.tcp_wmem", SEND_BUFFERS)
        if have("iperf3"):
            link = iperf.measure(bench, sender, receiver, IPERF_STREAMS, bench.size(8, 3), omit=3)
            note = f"{link.bytes_per_second / 1e6:.1f} MB/s by {IPERF_STREAMS} streams"
            results.append(
                Result("long-fat, path by iperf3 / shaped", link.bytes_per_second / shaped, "", BAR, "higher", note)
            )
            say(f"  iperf3: {note}")
        samples: list[tuple[float, int]] = []
        lanes = 0

        def sample(program: Program) -> None:
            nonlocal lanes
            lanes = max(lanes, connections(program.pid, PORT))
            samples.append((time.monotonic(), received(program.pid)))
            if samples[-1][0] - samples[0][0] > MOST_SECONDS:
                raise EnoughError

        payload, ending = size, "to its end"
        try:
            Transfer(bench, source, lanes=None).move(Route(sender, receiver), sample)
        except EnoughError:
            # What the packets' headers left; the transfer's own size cannot tell yet.
            payload = int((samples[-1][1] - samples[0][1]) * payload_share(MTU))
            ending = f"stopped after {MOST_SECONDS} s"
    rate = steady_rate(samples, payload)
    note = f"{rate / 1e6:.1f} of {shaped / 1e6:g} MB/s; {lanes} lanes; {ending}"
    return [*results, Result("long-fat / shaped", rate / shaped, "", BAR, "higher", note)]
