"""A long path: two nodes with tun devices, and a program between them that holds every packet back for a while.

For kernels without netem. The program is `python -m bench.data_plane.long_path NAMESPACE NAMESPACE SECONDS`. Packets
keep their order, none is lost in it.
"""

import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node, command, namespaces
from bench.data_plane.process import running, until

DEVICE = "eth0"
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
PACKET_BYTES = 65_536
TICK_SECONDS = 0.001
BATCH = 64
# Packets that wait for the program while the scheduler gives its core to others: 200 Mbit/s are 17 in a millisecond.
QUEUE_PACKETS = 10_000


@dataclass
class Direction:
    """From one device to the other."""

    source: int
    target: int
    waiting: deque[tuple[float, bytes]]


def attach(namespace: str) -> int:
    """The tun device of a namespace; whoever opens it moves there."""
    library = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{namespace}").open() as handle:
        if library.setns(handle.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def forward(one: int, other: int, delay: float) -> None:
    """Pass packets both ways, each `delay` seconds late, until killed."""
    directions = [Direction(one, other, deque()), Direction(other, one, deque())]
    by_source = {direction.source: direction for direction in directions}
    poll = select.epoll()
    for source in by_source:
        poll.register(source, select.EPOLLIN)
    while True:
        busy = any(direction.waiting for direction in directions)
        events = poll.poll(TICK_SECONDS if busy else None)
        due = time.monotonic() + delay
        for source, _ in events:
            take(by_source[source], due)
        now = time.monotonic()
        for direction in directions:
            while direction.waiting and direction.waiting[0][0] <= now:
                os.write(direction.target, direction.waiting.popleft()[1])


def take(direction: Direction, due: float) -> None:
    """Read what is there, but not so much that the other direction has to wait."""
    for _ in range(BATCH):
        try:
            direction.waiting.append((due, os.read(direction.source, PACKET_BYTES)))
        except BlockingIOError:
            return


@contextmanager
def long_path(bench: Bench, round_trip: float, mbit: int, mtu: int) -> Iterator[tuple[Node, Node]]:
    """Sender and receiver; what the sender sends is shaped to `mbit`, with a queue of one bandwidth-delay product."""
    with namespaces("long-sender", "long-receiver") as names:
        nodes = [Node(name, address) for name, address in zip(names, ("10.0.0.1", "10.1.0.1"), strict=True)]
        for node in nodes:
            command("ip", "-n", node.namespace, "tuntap", "add", "dev", DEVICE, "mode", "tun")
            lines = [
                f"link set {DEVICE} mtu {mtu} txqueuelen {QUEUE_PACKETS}",
                f"addr add {node.address}/8 dev {DEVICE}",
                "link set lo up",
                f"link set {DEVICE} up",
            ]
            command("ip", "-n", node.namespace, "-batch", "-", text="\n".join(lines) + "\n")
        limit = int(mbit * 1e6 / 8 * round_trip)
        shape = ["tbf", "rate", f"{mbit}mbit", "burst", "64kb", "limit", str(limit)]
        command("tc", "-n", names[0], "qdisc", "add", "dev", DEVICE, "root", *shape)
        argv = [sys.executable, "-m", "bench.data_plane.long_path", *names, str(round_trip / 2)]
        with running(argv, bench.work / "long-path.log") as program:
            until(lambda: all(_carrier(node) for node in nodes), "the long path", [program])
            yield nodes[0], nodes[1]
            program.check()


def _carrier(node: Node) -> bool:
    """A tun device runs once a program holds it."""
    show = ["ip", "-n", node.namespace, "-br", "link", "show", DEVICE]
    return "LOWER_UP" in subprocess.run(show, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Attach to both namespaces and forward."""
    one, other, delay = sys.argv[1:]
    forward(attach(one), attach(other), float(delay))


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        raise SystemExit(f"long path: {error}") from error
