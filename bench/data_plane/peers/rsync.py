"""rsync to a plain rsyncd: neither encrypted nor compressed, whole files."""

from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.peers.programs import require
from bench.data_plane.process import listening, running

PORT = 8730
TIMEOUT = 600.0


def copy(bench: Bench, source: Path, sender: Node, receiver: Node, *, sparse: bool = False) -> float:
    """Seconds from the client's start to its exit; the server is running already."""
    rsync, target = require("rsync"), bench.folder("arrived")
    config = bench.work / "rsyncd.conf"
    config.write_text(
        f"use chroot = no\nuid = 0\ngid = 0\nreverse lookup = no\n[bench]\npath = {target}\nread only = no\n"
    )
    serve = [rsync, "--daemon", "--no-detach", f"--config={config}", f"--address={receiver.address}", f"--port={PORT}"]
    with running(serve, bench.work / "rsyncd.log", receiver) as server:
        listening(receiver, PORT, server)
        argv = [rsync, "--archive", "--whole-file", "--sparse" if sparse else "--inplace", f"{source}/"]
        argv.append(f"rsync://{receiver.address}:{PORT}/bench/")
        with running(argv, bench.work / "rsync.log", sender) as client:
            return client.wait(TIMEOUT).seconds
