"""A long path: two nodes with tun devices, and `cpt-laboratory long-path` between them, for kernels without netem.

The program holds every packet back for a while, passes them at a rate behind a queue, and loses some where it should.
`python -m bench.data_plane.long_path NAMESPACE NAMESPACE PROGRAM JSON` attaches to both devices and becomes it.
"""

import ctypes
import fcntl
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node, command, namespaces
from bench.data_plane.process import running, until

DEVICE = "eth0"
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
# Packets that wait for the program while others have its core: 250 MB/s of 1 500 bytes are 167 in a millisecond.
QUEUE_PACKETS = 10_000


@dataclass(frozen=True)
class Shape:
    """What a path is like: its round trip in seconds, and Mbit/s of what goes from the sender to the receiver."""

    round_trip: float
    mbit: float
    mtu: int = 1500
    loss: float = 0.0
    """Share of the sender's packets that do not arrive."""
    widens: Sequence[tuple[float, float]] = ()
    """Seconds after the first packet, and Mbit/s from then on."""
    jitter: float = 0.0
    """Seconds that a packet is late beside the delay at most, each way; packets keep their order."""
    queue_bytes: int | None = None
    """What may wait; None: one round trip of the widest rate."""
    seed: int = 1

    def arguments(self) -> str:
        """For the program."""
        rates = [(0.0, self.mbit), *self.widens]
        widest = max(mbit for _, mbit in rates)
        return json.dumps(
            {
                "delayMs": self.round_trip * 500,
                "rates": [(since, mbit / 8) for since, mbit in rates],
                "queueBytes": self.queue_bytes or max(int(widest * 1e6 / 8 * self.round_trip), 64 << 10),
                "loss": self.loss,
                "seed": self.seed,
                # An earlier build, which is measured beside this one, knows no jitter.
                **({"jitterMs": self.jitter * 1e3} if self.jitter else {}),
            }
        )


def attach(namespace: str) -> int:
    """The tun device of a namespace; whoever opens it moves there."""
    library = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{namespace}").open() as handle:
        if library.setns(handle.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    return tun


@contextmanager
def long_path(bench: Bench, shape: Shape) -> Iterator[tuple[Node, Node]]:
    """Sender and receiver at its ends."""
    with namespaces("long-sender", "long-receiver") as names:
        nodes = [Node(name, address) for name, address in zip(names, ("10.0.0.1", "10.1.0.1"), strict=True)]
        for node in nodes:
            command("ip", "-n", node.namespace, "tuntap", "add", "dev", DEVICE, "mode", "tun")
            lines = [
                f"link set {DEVICE} mtu {shape.mtu} txqueuelen {QUEUE_PACKETS}",
                f"addr add {node.address}/8 dev {DEVICE}",
                "link set lo up",
                f"link set {DEVICE} up",
            ]
            command("ip", "-n", node.namespace, "-batch", "-", text="\n".join(lines) + "\n")
        attaching = [sys.executable, "-m", "bench.data_plane.long_path", *names, str(bench.daemon), shape.arguments()]
        # It stands for wires, which no program has to wait for.
        with running(["nice", "-n", "-10", *attaching], bench.work / "long-path.log") as program:
            until(lambda: all(_carrier(node) for node in nodes), "the long path", [program])
            yield nodes[0], nodes[1]
            program.check()
            program.stop()


def _carrier(node: Node) -> bool:
    """A tun device runs once a program holds it."""
    show = ["ip", "-n", node.namespace, "-br", "link", "show", DEVICE]
    return "LOWER_UP" in subprocess.run(show, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Attach to both namespaces and become the program."""
    one, other, program, path = sys.argv[1:]
    first, second = attach(one), attach(other)
    os.dup2(first, 0)
    os.dup2(second, 1)
    os.execv(program, [program, "long-path", path])  # noqa: S606


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        raise SystemExit(f"long path: {error}") from error
