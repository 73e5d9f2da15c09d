"""Instances as network namespaces: root only. Caps are htb classes, security groups are nftables rulesets, both in the
kernel.

All namespaces of a cloud hang on a bridge in a namespace of their own: nothing is added to the machine's own network.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from local.facts import fact
from local.instances import tree
from local.instances.firewall import path_mtu
from local.instances.forward import Forwarder
from local.instances.imds import Credentials, MetadataServer
from local.instances.model import AddressPlan, CommandResult, Instance
from local.instances.process import marked, run_script
from local.instances.shaping import Link, Side, change_commands, link_commands
from local.state import StateDir, kill_all, namespaces

METADATA_ADDRESS = "169.254.169.254"
CLONE_NEWNET = 0x40000000
# As inside a VPC. An internet gateway carries 1 500; there headers are 4 % of what the caps count, here under 1 %.
MTU = str(fact("mtu-vpc-bytes"))
REMEDY = "install iproute2, nftables and util-linux (Debian: apt install iproute2 nftables), or use --instances process"

T = TypeVar("T")


class NetworkError(Exception):
    """A network command failed; the message has the command and what it said."""


class NamespaceBackend:
    """Backend of the namespaces mode."""

    def __init__(
        self,
        plan: AddressPlan,
        state: StateDir,
        port: int,
        credentials: Credentials,
        *,
        peering: bool,
        image: Path | None,
    ) -> None:
        missing = [tool for tool in ("ip", "tc", "nft", "nsenter") if shutil.which(tool) is None]
        if missing:
            raise NetworkError(f"{', '.join(missing)} not found: {REMEDY}")
        self._plan = plan
        self._state = state
        self._port = port
        self._credentials = credentials
        self._peering = peering
        self._image = image
        self._hub = f"{state.network_prefix}-hub"
        self._forwarder = Forwarder(("127.0.0.1", port))
        self._metadata: dict[str, MetadataServer] = {}
        self._environments: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()
        for name in namespaces(state.network_prefix):
            command("ip", "netns", "del", name)
        command("ip", "netns", "add", self._hub)
        command("ip", "-n", self._hub, "link", "add", "br0", "mtu", MTU, "type", "bridge")
        command("ip", "-n", self._hub, "link", "set", "br0", "up")

    def launch(self, instance: Instance) -> None:
        """Make the namespace with both addresses on eth0, caps, metadata service and a way to the API."""
        name = self._name(instance)
        with self._lock:
            command("ip", "netns", "add", name)
            self._link(instance, name)
        metadata = _listener(name, METADATA_ADDRESS, 80)
        self._metadata[instance.instance_id] = MetadataServer(instance, metadata, self._credentials)
        self._forwarder.serve(instance.instance_id, _listener(name, "127.0.0.1", self._port))
        environment = tree.base_environment(
            instance, self._state, f"http://127.0.0.1:{self._port}", f"http://{METADATA_ADDRESS}"
        )
        tree.make_tree(instance, environment, self._image)
        self._environments[instance.instance_id] = environment

    def run(self, instance: Instance, script: str, env: dict[str, str], timeout: float) -> CommandResult:
        """Run a shell script inside the namespace, in its own session."""
        environment = {**self._environments[instance.instance_id], **env}
        prefix = ["nsenter", f"--net=/run/netns/{self._name(instance)}", "--"]
        return run_script(prefix, instance.home, script, environment, timeout)

    def halt(self, instance: Instance) -> None:
        """Kill what runs in the namespace or carries the instance's marker, keep its logs, remove the namespace."""
        name = self._name(instance)
        self._forwarder.close(instance.instance_id)
        metadata = self._metadata.pop(instance.instance_id, None)
        if metadata is not None:
            metadata.close()
        kill_all(lambda: [*marked(instance.instance_id), *_pids(name)])
        if name in namespaces(self._state.network_prefix):
            command("ip", "netns", "del", name)
        tree.forget_units(instance, self._state)

    def terminate(self, instance: Instance) -> None:
        """The same, and its tree goes."""
        self.halt(instance)
        shutil.rmtree(instance.home, ignore_errors=True)

    def apply_rules(self, instance: Instance, ruleset: str) -> None:
        """Load a ruleset into the namespace, atomically."""
        name = self._name(instance)
        if name in namespaces(self._state.network_prefix):
            command("nsenter", f"--net=/run/netns/{name}", "--", "nft", "-f", "-", text=ruleset)

    def apply_caps(self, instance: Instance) -> None:
        """Hold the instance to other caps."""
        name, port = self._name(instance), self._port_of(instance)
        try:
            self._shape(name, change_commands(instance.held.caps, "eth0", self._links(instance, "dst")))
            self._shape(self._hub, change_commands(instance.held.caps, port, self._links(instance, "src")))
        except NetworkError:
            if name in namespaces(self._state.network_prefix):
                raise

    def close(self) -> None:
        """Remove the hub."""
        command("ip", "netns", "del", self._hub)

    def _name(self, instance: Instance) -> str:
        k = self._plan.regions.index(instance.region)
        return f"{self._state.network_prefix}-{k}-{instance.number}-{instance.instance_id[-5:]}"

    def _port_of(self, instance: Instance) -> str:
        return f"v{self._plan.regions.index(instance.region)}x{instance.number}"

    def _link(self, instance: Instance, name: str) -> None:
        port = self._port_of(instance)
        peer = ("peer", "name", "eth0", "mtu", MTU, "netns", name)
        command("ip", "-n", self._hub, "link", "add", port, "mtu", MTU, "type", "veth", *peer)
        command("ip", "-n", self._hub, "link", "set", port, "master", "br0", "up")
        addresses = [instance.private_address, *([instance.public_address] if instance.public_address else [])]
        batch = [f"addr add {address}/32 dev eth0" for address in addresses]
        batch += [f"addr add {METADATA_ADDRESS}/32 dev lo", "link set lo up", "link set eth0 up"]
        private = "10.0.0.0/8" if self._peering else self._plan.private_range(instance.region)
        batch.append(f"route add {private} dev eth0 src {instance.private_address}")
        if instance.public_address:
            batch.append(f"route add 100.64.0.0/10 dev eth0 src {instance.public_address}")
        command("ip", "-n", name, "-batch", "-", text="\n".join(batch) + "\n")
        limits = path_mtu(self._plan.private_range(instance.region))
        command("nsenter", f"--net=/run/netns/{name}", "--", "nft", "-f", "-", text=limits)
        own = self._plan.ranges(instance.region)
        self._shape(name, link_commands(instance.held.caps, "eth0", "dst", own, self._links(instance, "dst")))
        self._shape(self._hub, link_commands(instance.held.caps, port, "src", own, self._links(instance, "src")))

    def _links(self, instance: Instance, side: Side) -> list[Link]:
        """Caps of what it sends to other regions ("dst"), or receives from them ("src")."""
        pair = f"{instance.region}>{{}}" if side == "dst" else f"{{}}>{instance.region}"
        between = instance.held.between
        return [
            Link(number, self._plan.ranges(region), between[pair.format(region)])
            for number, region in enumerate(self._plan.regions)
            if pair.format(region) in between
        ]

    @staticmethod
    def _shape(namespace: str, lines: Sequence[Sequence[str]]) -> None:
        if lines:
            command("tc", "-n", namespace, "-batch", "-", text="".join(f"{' '.join(line)}\n" for line in lines))


def command(*argv: str, text: str | None = None) -> None:
    """Run a network command. Raises NetworkError."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(argv)}: {done.stderr.strip()} ({REMEDY})")


def _listener(namespace: str, address: str, port: int) -> socket.socket:
    """A listening socket that belongs to another namespace; whoever holds it may accept from anywhere."""
    return inside(namespace, lambda: socket.create_server((address, port), backlog=128))


def inside(namespace: str, act: Callable[[], T]) -> T:
    """Run `act` in a namespace, on a thread of its own, which is thrown away."""
    box: list[T] = []
    failed: list[OSError] = []

    def enter() -> None:
        try:
            with Path("/run/netns", namespace).open() as handle:
                if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"setns {namespace}")
            box.append(act())
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter, name=f"enter-{namespace}")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return box[0]


def _pids(namespace: str) -> Sequence[int]:
    done = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    return [int(pid) for pid in done.stdout.split() if int(pid) != os.getpid()]
