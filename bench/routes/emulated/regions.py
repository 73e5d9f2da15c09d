"""Regions as network namespaces around one router, with a cap for each direction of each pair of regions.

Neighbours are written down once, because the kernel keeps those that it asks for in one table for all namespaces, which
holds 1 024: a bridge for some hundred machines would need more.

What is capped is one of two things. A link as a whole: all relays of a region are in one namespace, whose device holds
one cap for each other region. Or each machine: every relay has a namespace of its own, with the same caps for each.
The ends have no caps, since strategies are compared by what relays carry.
"""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from bench.data_plane.network import Node, cable, command, namespaces
from lambdas.core.routes.network_map import NetworkMap
from local.caps import Caps
from local.instances.shaping import Link, Side, change_commands, link_commands

MTU = 9001  # as in a VPC: headers are under 1 % of what the caps count
FIRST_PORT = 4600
CALLS_AT_ONCE = 8
NO_CAPS = Caps()
ROUTER = "169.254.0.1"
# At the two ends of every cable, of which no other sees anything.
ROUTER_MAC, MACHINE_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
# Of each connection, in bytes: at rates and minutes that are scaled down, the kernel's own would hold a minute's data.
BUFFERS = {"net.ipv4.tcp_wmem": "4096 65536 131072", "net.ipv4.tcp_rmem": "4096 65536 131072"}
_numbers = itertools.count()


@dataclass(frozen=True)
class Place:
    """Where a relay runs and listens."""

    region: str
    node: Node
    port: int

    @property
    def address(self) -> str:
        """What the hop before dials."""
        return f"{self.node.address}:{self.port}"


class Regions:
    """The regions of one strategy. All of it is gone when `stack` closes."""

    def __init__(self, stack: ExitStack, prefix: str, names: Sequence[str], whole_links: bool) -> None:
        self._stack, self._names, self._whole_links = stack, names, whole_links
        self._prefix = f"{prefix}x{next(_numbers)}"
        self._hub = f"{self._prefix}-hub"
        self._capped: list[tuple[str, Node]] = []
        self._ports = itertools.count(FIRST_PORT)
        self._machines = itertools.count(2)
        self._caps = NetworkMap.of(())
        self._scale = 0.0
        stack.enter_context(namespaces(self._hub))
        Node(self._hub, ROUTER).sysctl("net.ipv4.ip_forward", "1")
        self._shared: dict[str, Node] = {}

    def hold(self, caps: NetworkMap, scale: float) -> None:
        """Hold every link, or every machine, to these rates times `scale`."""
        self._caps, self._scale = caps, scale
        ports: list[list[str]] = []
        shapes: list[tuple[str, list[list[str]]]] = []
        for region, node in self._capped:
            shapes.append((node.namespace, change_commands(NO_CAPS, "eth0", self._links(region, "dst"))))
            ports += change_commands(NO_CAPS, node.port or "", self._links(region, "src"))
        with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
            # All at once, since a minute lasts a few seconds here.
            list(pool.map(lambda shape: _shape(*shape), [*shapes, (self._hub, ports)]))

    def end(self, region: str) -> Node:
        """A machine that no cap holds."""
        return self._machine(region)

    def place(self, region: str) -> Place:
        """Where one more relay of a region can run; `hold` comes first."""
        if not self._whole_links:
            return Place(region, self._held(region), FIRST_PORT)
        if region not in self._shared:
            self._shared[region] = self._held(region)
        return Place(region, self._shared[region], next(self._ports))

    def _held(self, region: str) -> Node:
        node = self._machine(region)
        own = [self._range(region)]
        _shape(node.namespace, link_commands(NO_CAPS, "eth0", "dst", own, self._links(region, "dst")))
        _shape(self._hub, link_commands(NO_CAPS, node.port or "", "src", own, self._links(region, "src")))
        self._capped.append((region, node))
        return node

    def _links(self, region: str, side: Side) -> list[Link]:
        """Caps of what it sends to other regions ("dst"), or receives from them ("src")."""
        found = []
        for number, other in enumerate(self._names):
            link = self._caps.get((region, other) if side == "dst" else (other, region))
            if link is not None:
                found.append(Link(number, [self._range(other)], link.rate * self._scale))
        return found

    def _range(self, region: str) -> str:
        return f"10.{self._names.index(region)}.0.0/16"

    def _machine(self, region: str) -> Node:
        number, place = next(self._machines), self._names.index(region)
        name, port = f"{self._prefix}-{number}", f"port{number}"
        address = f"10.{place}.0.{number}"
        self._stack.enter_context(namespaces(name))
        cable(name, "eth0", self._hub, port, MTU)
        _configure(
            self._hub,
            f"link set {port} address {ROUTER_MAC} up",
            f"route add {address}/32 dev {port}",
            f"neigh add {address} lladdr {MACHINE_MAC} dev {port} nud permanent",
        )
        _configure(
            name,
            "link set lo up",
            f"addr add {address}/32 dev eth0",
            f"link set eth0 address {MACHINE_MAC} up",
            f"neigh add {ROUTER} lladdr {ROUTER_MAC} dev eth0 nud permanent",
            f"route add default via {ROUTER} dev eth0 onlink",
        )
        node = Node(name, address, port)
        for sysctl, value in BUFFERS.items():
            node.sysctl(sysctl, value)
        return node


def _configure(namespace: str, *lines: str) -> None:
    command("ip", "-n", namespace, "-batch", "-", text="\n".join(lines) + "\n")


def _shape(namespace: str, lines: Sequence[Sequence[str]]) -> None:
    if lines:
        command("tc", "-n", namespace, "-batch", "-", text="".join(f"{' '.join(line)}\n" for line in lines))
