"""The networks of RCD's experiments and their sets of files, scaled.

Rates, sizes of files and buffers are scaled alike, round trips are not: so BDP over a file's size, and round trips
times rate over it, are those of the paper. The paper gives neither buffers nor queues: ours are Linux's own of that
time where nobody tuned, 32 MiB for XSEDE's machines, and a queue of one BDP.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.data_plane.long_path import Shape, long_path
from bench.data_plane.network import Node
from bench.lab.experiment import Lab

MB, MIB = 1_000_000, 1 << 20


@dataclass(frozen=True)
class Testbed:
    """A network of the paper, in its MB/s, seconds and bytes; all but the round trip is divided by `scale`."""

    name: str
    link: float
    line: float
    """The slower one of link and disks."""
    round_trip: float
    scale: float
    send_buffer: int
    receive_buffer: int

    @property
    def bdp(self) -> float:
        """Bytes, here."""
        return self.link * MB * self.round_trip / self.scale

    @property
    def rate(self) -> float:
        """MB/s, here."""
        return self.line / self.scale

    @property
    def buffers(self) -> dict[str, str]:
        """Of TCP, here."""
        send, receive = (int(size / self.scale) for size in (self.send_buffer, self.receive_buffer))
        first = {size: min(131_072, size) for size in (send, receive)}
        return {
            "net.ipv4.tcp_wmem": f"4096 {min(16_384, send)} {send}",
            "net.ipv4.tcp_rmem": f"4096 {first[receive]} {receive}",
            "net.ipv4.tcp_no_metrics_save": "1",
        }


TESTBEDS = (
    Testbed("FutureGrid", 125, 125, 0.076, 5, 4 * MIB, 6 * MIB),
    Testbed("XSEDE", 1250, 562.5, 0.050, 40, 32 * MIB, 32 * MIB),
    Testbed("AWS", 1250, 125, 0.100, 5, 4 * MIB, 6 * MIB),
)
SETS = {"small": (0.512, 8), "medium": (25, 100), "large": (512, 2048)}
"""MB, there."""


def write(folder: Path, testbed: Testbed, kind: str, total: float, random: Random) -> int:
    """Files of random bytes whose sizes are drawn evenly; how many."""
    least, most = (int(size * MB / testbed.scale) for size in SETS[kind])
    number = 0
    while total > 0:
        size = int(min(random.randint(least, most), max(total, least)))
        with (folder / f"{number:05}").open("wb") as file:
            for start in range(0, size, 4 * MIB):
                file.write(os.urandom(min(4 * MIB, size - start)))
        total, number = total - size, number + 1
    return number


@contextmanager
def network(lab: Lab, testbed: Testbed) -> Iterator[tuple[Node, Node]]:
    """Both machines."""
    shape = Shape(
        testbed.round_trip, testbed.rate * 8, queue_bytes=int(testbed.rate * MB * testbed.round_trip), seed=lab.seed
    )
    with long_path(lab.bench, shape) as ends:
        for node in ends:
            for name, value in testbed.buffers.items():
                node.sysctl(name, value)
        yield ends
