"""The tools of a sweep: what each runs at both machines for one combination."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.data_plane.peers.programs import PEERS
from bench.lab import channels, peers
from bench.lab.sweep.plan import Combination

LABORATORY = Path("relay-ami/relay/target/release/cpt-laboratory")
IPERF_PORT, CPT_PORT = 5201, 4600


@dataclass(frozen=True)
class Machines:
    """Both ends: what puts a command there, and the receiver's address."""

    near: Sequence[str]
    far: Sequence[str]
    address: str
    shared: Path | None
    """A folder that both see, for CPT's roles by hand."""
    sets_buffers: bool
    """Whether TCP's largest buffers may be set at both for tools without an option for windows."""


@dataclass(frozen=True)
class Run:
    """Programs of one run; the client's end is the run's."""

    server: Sequence[str]
    port: int
    client: Sequence[str]
    before: Sequence[Sequence[str]] = ()
    """At the near machine, not timed."""
    server_ends: bool = False
    """By itself, when all has come: then that is the run's end."""


@dataclass(frozen=True)
class Tool:
    """How a tool is run, whether it has an option for windows, and what it needs."""

    has_windows: bool
    run: Callable[[Combination, Machines, Path, Path, int], Run]
    peer: str | None = None
    needs_shared: bool = False


def _iperf3(one: Combination, at: Machines, _source: Path, _target: Path, size: int) -> Run:
    client = ["iperf3", "-c", at.address, "-P", str(one.streams), "-w", str(one.window), "-n", str(size), "-J"]
    return Run(["iperf3", "-s", "-1", "-B", at.address], IPERF_PORT, client)


def _channels(one: Combination, at: Machines, source: Path, target: Path, _: int) -> Run:
    python = [sys.executable, "-m"]
    given = {"folder": str(source), "to": at.address, "policy": "fixed", "setting": [16, 1, one.streams]}
    serve = {"folder": str(target), "listen": at.address}
    return Run(
        [*python, "bench.lab.channels", json.dumps(serve)],
        channels.PORT,
        [*python, "bench.lab.policies", json.dumps(given)],
    )


def _gridftp(one: Combination, at: Machines, source: Path, target: Path, _: int) -> Run:
    port = str(peers.GRIDFTP_PORT)
    where = ["-control-interface", at.address, "-data-interface", at.address]
    server = ["globus-gridftp-server", "-daemon", "-aa", "-anonymous-user", "nobody", "-p", port, *where]
    urls = [f"file://{source}/", f"ftp://{at.address}:{port}{target}/"]
    options = ["-fast", "-pp", "-p", str(one.streams), "-tcp-bs", str(one.window), "-r"]
    return Run(server, peers.GRIDFTP_PORT, ["globus-url-copy", *options, *urls])


def _cpt(one: Combination, at: Machines, source: Path, target: Path, _: int) -> Run:
    control = str((at.shared or target) / "control")
    daemon = str(LABORATORY.resolve())
    listen = ["--listen", f"{at.address}:{CPT_PORT}"]
    return Run(
        [daemon, "receive", "--control-dir", control, *listen, str(target)],
        CPT_PORT,
        [daemon, "send", "--control-dir", control, "--direct", "--lanes", str(one.streams), "--fixed-lanes"],
        [[daemon, "plan", "--control-dir", control, "--lanes", str(one.streams), f"{source}/"]],
        server_ends=True,
    )


TOOLS: Mapping[str, Tool] = {
    "cpt": Tool(False, _cpt, needs_shared=True),
    "channels": Tool(False, _channels),
    "gridftp": Tool(True, _gridftp, "globus-url-copy"),
    "iperf3": Tool(True, _iperf3, "iperf3"),
}
UNTRIED = ("bbcp", "fdt", "bbftp")
"""GREEN's own: no registry has them, so nobody knows how this sweep would run them, and it leaves them out."""


def missing(tools: Sequence[str], machines: Machines) -> dict[str, str]:
    """Tools that cannot run here, and why or how to get them."""
    found = {}
    for name in tools:
        if name in UNTRIED:
            found[name] = "nobody has tried it with this sweep"
            continue
        tool = TOOLS[name]
        if tool.peer and PEERS[tool.peer].path() is None:
            found[name] = PEERS[tool.peer].install
        elif tool.needs_shared and machines.shared is None:
            found[name] = "its roles by hand need --shared, a folder that both machines see"
        elif not tool.has_windows and not machines.sets_buffers:
            found[name] = "it has no option for windows; --set-buffers lets the sweep set net.ipv4.tcp_{r,w}mem"
        elif name == "cpt" and not LABORATORY.exists():
            found[name] = "make lab builds it"
    return found
