"""Caps per VM by htb: 20 MB/s out of the region, 160 MB/s in all, p pairs beside the direct path.

Each node's egress is classified by destination address; the receiver's ingress is capped as well. The caps count wire
bytes: packets are of 9 001 bytes, as in a VPC, so headers and TLS records take 1 %. The rate is that of payload: from
the receiver's device between 20 and 90 % of the bytes, times payload over all received bytes of the transfer.
One run for each row: a capped rate hardly varies.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.data_plane import files
from bench.data_plane.arithmetic import capped_rate, payload_share, steady_rate
from bench.data_plane.bench import Bench, say
from bench.data_plane.network import Network, command, network, received
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.process import Program
from bench.results import Result
from local.caps import Caps
from local.instances.shaping import link_commands

MTU = 9001
BAR = 0.97


@dataclass(frozen=True)
class Setting:
    """Caps in MB/s: (out of the region, in all) of each kind of node."""

    name: str
    ends: tuple[float, float]
    destination: float
    relays: Sequence[tuple[float, float]]

    @property
    def allowed(self) -> float:
        """What the caps allow."""
        pairs = [min(inter, intra) for inter, intra in self.relays]
        return capped_rate(self.ends[1], self.destination, self.ends[0], pairs)


# From the fastest down, since each cuts the file of the one before.
SETTINGS = (
    *(Setting(f"p = {pairs}", (20, 160), 160, [(20, 160)] * pairs) for pairs in (7, 4)),
    Setting("p = 3, each its own caps", (15, 120), 200, [(10, 60), (25, 160), (40, 80)]),
    *(Setting(f"p = {pairs}", (20, 160), 160, [(20, 160)] * pairs) for pairs in (2, 1)),
)


def run(bench: Bench) -> list[Result]:
    """Payload rate as a share of what the caps allow, for each setting."""
    seconds = bench.size(20, 3)
    source = bench.folder("source")
    files.large(source, int(SETTINGS[0].allowed * 1e6) * seconds)
    results = []
    for setting in SETTINGS:
        size = int(setting.allowed * 1e6) * seconds
        os.truncate(source / "large", size)
        say(f"  {setting.name}")
        with capped(setting) as net:
            results.append(_measure(Transfer(bench, source), net, setting, size))
    return results


def _measure(ours: Transfer, net: Network, setting: Setting, size: int) -> Result:
    samples: list[tuple[float, int]] = []
    pairs = [(net[f"near{number}"], net[f"far{number}"]) for number in range(len(setting.relays))]

    def sample(receiver: Program) -> None:
        samples.append((time.monotonic(), received(receiver.pid)))

    moved = ours.move(Route(net["sender"], net["receiver"], pairs), sample)
    rate = steady_rate(samples, size) / 1e6
    note = (
        f"{rate:.1f} of {setting.allowed:g} MB/s; {moved.lanes} lanes; whole transfer "
        f"{size / 1e6 / moved.seconds:.1f} MB/s; headers leave {payload_share(MTU):.3f}"
    )
    return Result(f"caps, {setting.name}", rate / setting.allowed, "", BAR, "higher", note)


@contextmanager
def capped(setting: Setting) -> Iterator[Network]:
    """Region 10.0.0.0/16 with the sender, region 10.1.0.0/16 with the receiver, relays in both."""
    nodes = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}
    caps = {"sender": setting.ends, "receiver": setting.ends}
    for number, relay in enumerate(setting.relays):
        for region, side in enumerate(("near", "far")):
            nodes[f"{side}{number}"] = f"10.{region}.1.{number + 1}"
            caps[f"{side}{number}"] = relay
    with network(nodes, MTU) as net:
        for role, (inter, intra) in caps.items():
            own = ".".join(nodes[role].split(".")[:2]) + ".0.0/16"
            for line in link_commands(Caps.of(inter, intra), "eth0", "dst", [own]):
                command("tc", "-n", net[role].namespace, *line)
        # What comes in from everywhere together.
        total = Caps.of(setting.destination, setting.destination)
        for line in link_commands(total, net["receiver"].port or "", "src", ["10.1.0.0/16"]):
            command("tc", "-n", net.hub or "", *line)
        yield net
