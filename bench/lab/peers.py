"""What the papers compared with, as programs: the same tree between the same two machines, seconds of the client."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.peers.programs import PEERS, Peer, require
from bench.data_plane.process import BenchError, listening, running, until
from bench.lab import channels
from bench.lab.tuning import Setting
from bench.results import say

TIMEOUT = 900.0
GRIDFTP_PORT, UDT_PORT = 2811, 4850
UDT = Path(".cache/lab/udt")
NOBODY_WRITES = 0o777
_GRIDFTP = "apt-get install globus-gass-copy-progs globus-gridftp-server-progs"
PEERS["globus-url-copy"] = Peer("globus-url-copy", "-version", _GRIDFTP)


def policy(bench: Bench, source: Path, ends: tuple[Node, Node], name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A policy over channels: its seconds and chunks. Raises BenchError if what arrived has another size."""
    sender, receiver = ends
    arrived = bench.folder("arrived")
    serving = [sys.executable, "-m", "bench.lab.channels"]
    sending = [sys.executable, "-m", "bench.lab.policies"]
    to = {"folder": str(arrived), "listen": receiver.address}
    with running([*serving, json.dumps(to)], bench.work / "serve.log", receiver) as server:
        listening(receiver, channels.PORT, server)
        asked = {"folder": str(source), "to": receiver.address, "policy": name, **given}
        log = bench.work / "policy.log"
        with running([*sending, json.dumps(asked)], log, sender) as client:
            client.wait(TIMEOUT)
        server.stop()
    same_bytes(source, arrived)
    found: dict[str, Any] = json.loads(log.read_text().splitlines()[-1])
    return found


def gridftp(bench: Bench, source: Path, ends: tuple[Node, Node], setting: Setting, buffer: int | None = None) -> float:
    """GridFTP of the Grid Community Toolkit; its depth of pipelining is fixed."""
    sender, receiver = ends
    arrived = bench.folder("arrived")
    arrived.chmod(NOBODY_WRITES)
    for folder in bench.work, *arrived.parents:
        if folder.stat().st_uid == 0 and folder.is_relative_to("/dev/shm"):  # noqa: S108
            folder.chmod(NOBODY_WRITES)
    server = shutil.which("globus-gridftp-server") or "/usr/sbin/globus-gridftp-server"
    address, port = receiver.address, str(GRIDFTP_PORT)
    serve = [server, "-daemon", "-aa", "-anonymous-user", "nobody", "-p", port]
    serve += ["-control-interface", address, "-data-interface", address]
    with running(serve, bench.work / "gridftp-server.log", receiver) as program:
        listening(receiver, GRIDFTP_PORT, program)
        tuned = ["-p", str(setting.parallelism), "-cc", str(setting.concurrency), "-pp"]
        tuned += ["-tcp-bs", str(buffer)] if buffer else []
        urls = [f"file://{source}/", f"ftp://{address}:{port}{arrived}/"]
        argv = [require("globus-url-copy"), "-fast", *tuned, "-r", *urls]
        with running(argv, bench.work / "gridftp.log", sender) as client:
            seconds = client.wait(TIMEOUT).seconds
    same_bytes(source, arrived)
    return seconds


def build_udt() -> bool:
    """The program of UDT, where the library and a compiler are; says what is missing if not."""
    if UDT.exists():
        return True
    UDT.parent.mkdir(parents=True, exist_ok=True)
    argv = ["g++", "-O2", "-o", str(UDT), str(Path(__file__).with_name("udt.cpp")), "-ludt", "-lpthread"]
    if shutil.which("g++") and subprocess.run(argv, capture_output=True, check=False).returncode == 0:
        return True
    say("  UDT cannot be built (apt-get install g++ libudt-dev): its rows are left out")
    return False


def udt(bench: Bench, source: Path, ends: tuple[Node, Node]) -> float:
    """One connection of UDT, file after file."""
    sender, receiver = ends
    arrived, log = bench.folder("arrived"), bench.work / "udt-server.log"
    place = [receiver.address, str(UDT_PORT)]
    program = str(UDT.resolve())
    with running([program, "serve", *place, str(arrived)], log, receiver) as server:
        until(lambda: b"ready" in log.read_bytes(), "UDT's receiver", [server])
        names = [str(path) for path in sorted(source.iterdir())]
        with running([program, "send", *place, *names], bench.work / "udt.log", sender) as client:
            seconds = client.wait(TIMEOUT).seconds
        server.wait(TIMEOUT)
    same_bytes(source, arrived)
    return seconds


def same_bytes(source: Path, arrived: Path) -> None:
    """Number and sizes of the files. Raises BenchError."""
    sizes = [sorted(p.stat().st_size for p in place.rglob("*") if p.is_file()) for place in (source, arrived)]
    if sizes[0] != sizes[1]:
        raise BenchError(
            f"{len(sizes[1])} files, {sum(sizes[1])} bytes arrived; {len(sizes[0])}, {sum(sizes[0])} were sent"
        )
