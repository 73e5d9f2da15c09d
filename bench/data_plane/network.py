"""Network namespaces as machines, joined by veth: two directly, more over a bridge."""

import itertools
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

PREFIX_LENGTH = 8
_numbers = itertools.count()


class NetworkError(Exception):
    """A network command failed; the message has the command and what it said."""


def command(*argv: str, text: str | None = None) -> None:
    """Run a network command. Raises NetworkError."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(argv)}: {done.stderr.strip()}")


@dataclass(frozen=True)
class Node:
    """A machine: commands run in it begin with `prefix`."""

    namespace: str
    address: str
    port: str | None = None
    """The bridge's end of its cable, in the namespace `hub` of its network."""

    @property
    def prefix(self) -> list[str]:
        """What puts a command into this machine."""
        return ["nsenter", f"--net=/run/netns/{self.namespace}", "--"]

    def sysctl(self, name: str, value: str) -> None:
        """Set a kernel parameter of this machine's network."""
        command(*self.prefix, "sysctl", "-q", "-w", f"{name}={value}")


@dataclass(frozen=True)
class Network:
    """Machines by role."""

    nodes: Mapping[str, Node]
    hub: str | None

    def __getitem__(self, role: str) -> Node:
        return self.nodes[role]


@contextmanager
def namespaces(*names: str) -> Iterator[Sequence[str]]:
    """Network namespaces, removed afterwards."""
    with ExitStack() as stack:
        for name in names:
            command("ip", "netns", "add", name)
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
        yield names


@contextmanager
def network(addresses: Mapping[str, str], mtu: int = 1500) -> Iterator[Network]:
    """Machines of these addresses (10.0.0.0/8), each with one device `eth0`."""
    prefix = f"bench{os.getpid()}x{next(_numbers)}"
    names = {role: f"{prefix}-{role}" for role in addresses}
    hub = f"{prefix}-hub" if len(addresses) > 2 else None
    with namespaces(*names.values(), *([hub] if hub else [])):
        if hub is None:
            one, other = names.values()
            cable(one, "eth0", other, "eth0", mtu)
        else:
            command("ip", "-n", hub, "link", "add", "br0", "mtu", str(mtu), "type", "bridge")
            command("ip", "-n", hub, "link", "set", "br0", "up")
        nodes = {}
        for number, (role, address) in enumerate(addresses.items()):
            port = f"port{number}" if hub else None
            if hub and port:
                cable(names[role], "eth0", hub, port, mtu)
                command("ip", "-n", hub, "link", "set", port, "master", "br0", "up")
            lines = [f"addr add {address}/{PREFIX_LENGTH} dev eth0", "link set lo up", "link set eth0 up"]
            command("ip", "-n", names[role], "-batch", "-", text="\n".join(lines) + "\n")
            nodes[role] = Node(names[role], address, port)
        yield Network(nodes, hub)


def cable(one: str, one_end: str, other: str, other_end: str, mtu: int) -> None:
    """Join two namespaces by a pair of devices with these names."""
    peer = ("peer", "name", other_end, "mtu", str(mtu), "netns", other)
    command("ip", "-n", one, "link", "add", one_end, "mtu", str(mtu), "type", "veth", *peer)


def received(pid: int) -> int:
    """Bytes that came in by `eth0` in the network of a process."""
    for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines():
        name, _, counters = line.strip().partition(":")
        if name == "eth0":
            return int(counters.split()[0])
    raise NetworkError(f"process {pid} has no eth0")


def connections(pid: int, port: int) -> int:
    """Established TCP connections to a port of the network of a process."""
    lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines)
