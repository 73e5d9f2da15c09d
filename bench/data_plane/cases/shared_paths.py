"""Long paths that change, or that others use too: one that becomes wider, two transfers, a stream of somebody else.

What others keep is compared with what they keep beside eight streams of iperf3, which is what most tools would open.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from bench.data_plane import files
from bench.data_plane.arithmetic import payload_share
from bench.data_plane.bench import MIB, Bench, median, say
from bench.data_plane.long_path import DEVICE, Shape, long_path
from bench.data_plane.network import Node, command, received
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.peers import iperf
from bench.data_plane.process import BenchError, Program
from bench.results import Result

MTU = 9000
# A lane carries 1 MiB / 2 per round trip, 5 MB/s: the path wants more lanes than any begins with.
WIDENS_AT, NARROW_MBIT, WIDE_MBIT = 20.0, 100, 800
WIDENING = Shape(0.1, NARROW_MBIT, MTU, widens=[(WIDENS_AT, WIDE_MBIT)])
SMALL_BUFFERS = "4096 16384 1048576"
WITHIN, JUDGED = 10.0, 4.0
SHARED = Shape(0.05, 400, MTU)
STREAM_SECONDS, STREAM_OMIT = 10, 3
OTHERS = 8


def run(bench: Bench) -> list[Result]:
    """The three."""
    return [widening(bench), two_transfers(bench), beside_a_stream(bench)]


def widening(bench: Bench) -> Result:
    """The share of the wider path that is used from 10 s after it has become wider."""
    source = bench.folder("source")
    size = (WIDENS_AT * NARROW_MBIT + (WITHIN + JUDGED + 2) * WIDE_MBIT) / 8 * 1e6
    files.large(source, bench.size(int(size), 16 * MIB))
    samples: list[tuple[float, int]] = []

    def sample(program: Program) -> None:
        samples.append((time.monotonic(), received(program.pid)))

    with long_path(bench, WIDENING) as (sender, receiver):
        sender.sysctl("net.ipv4.tcp_wmem", SMALL_BUFFERS)
        transfer = Transfer(bench, source, between_regions=True)
        transfer.move(Route(sender, receiver), sample)
        transfer.check_arrived()
    begun = next((at for at, count in samples if count), 0.0)
    since = begun + WIDENS_AT + WITHIN
    judged = [(at, count) for at, count in samples if since <= at <= since + JUDGED]
    if len(judged) < 2:
        raise BenchError(f"the transfer ended before {WIDENS_AT + WITHIN:.0f} s")
    rate = (judged[-1][1] - judged[0][1]) / (judged[-1][0] - judged[0][0])
    share = rate / (WIDE_MBIT / 8 * 1e6)
    note = f"{rate / 1e6:.1f} of {WIDE_MBIT / 8:g} MB/s, packets' headers of the tunnel counted"
    return Result("a path that becomes wider: rate / shaped, 10 s after", share, "", 0.95, "higher", note)


def two_transfers(bench: Bench) -> Result:
    """The rate of the slower one of two that begin together, over half of the path's."""
    size = bench.size(512 * MIB, 8 * MIB)
    source = bench.folder("source")
    files.large(source, size)
    shares = []
    with long_path(bench, SHARED) as (sender, receiver):
        other = replace(receiver, address="10.1.0.2")
        command("ip", "-n", receiver.namespace, "addr", "add", f"{other.address}/8", "dev", DEVICE)
        for _ in range(bench.runs):
            with ThreadPoolExecutor(2) as pool:
                seconds = sorted(
                    pool.map(
                        lambda number, to: _moved(bench, f"{number}", source, sender, to), (1, 2), (receiver, other)
                    )
                )
            # What the slower one moved before the other was done; then it had the path for itself.
            whole = SHARED.mbit / 8 * 1e6 * payload_share(MTU)
            first, last = seconds
            shares.append((size - (last - first) * whole) / first / (whole / 2))
            say(f"  two transfers: {first:.2f} s and {last:.2f} s")
    note = f"{', '.join(f'{share:.2f}' for share in shares)}; 50 ms, {SHARED.mbit:g} Mbit/s, {size >> 20} MiB each"
    return Result("two transfers on one path: the slower / half", median(shares), "", 0.8, "higher", note)


def _moved(bench: Bench, name: str, source: Path, sender: Node, receiver: Node) -> float:
    work = bench.folder(f"transfer-{name}")
    return Transfer(replace(bench, work=work), source, between_regions=True).move(Route(sender, receiver)).seconds


def beside_a_stream(bench: Bench) -> Result:
    """What one stream of somebody else keeps beside a transfer, over what it keeps beside eight streams."""
    source = bench.folder("source")
    files.large(source, bench.size(1024 * MIB, 64 * MIB))
    with long_path(bench, SHARED) as (sender, receiver):

        def stream() -> float:
            return iperf.measure(bench, sender, receiver, 1, STREAM_SECONDS, STREAM_OMIT).bytes_per_second

        def beside_ours() -> float:
            with ThreadPoolExecutor(1) as pool:
                ours = pool.submit(Transfer(bench, source, between_regions=True).move, Route(sender, receiver))
                kept = stream()
                if ours.done():
                    raise BenchError("the transfer ended before the stream")
                ours.result()
            return kept

        def beside_streams() -> float:
            with ThreadPoolExecutor(1) as pool:
                lasts = STREAM_SECONDS + 2 * STREAM_OMIT
                others = pool.submit(iperf.measure, bench, sender, receiver, OTHERS, lasts, 0, iperf.PORT + 1)
                kept = stream()
                others.result()
            return kept

        found = bench.alternate({"ours": beside_ours, "streams": beside_streams})
    kept, fair = median(found["ours"]), median(found["streams"])
    note = f"{kept / 1e6:.2f} MB/s, beside {OTHERS} streams {fair / 1e6:.2f}; 50 ms, {SHARED.mbit:g} Mbit/s"
    return Result("a stream beside a transfer / beside 8 streams", kept / fair, "", 0.5, "higher", note)
