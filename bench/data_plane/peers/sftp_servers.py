"""What serves sftp to rclone: its own `serve sftp`, or OpenSSH's server."""

import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.peers.programs import require
from bench.data_plane.process import listening, running

PORT = 2022
NO_CONFIG = {"RCLONE_CONFIG": "/dev/null"}
# Many connections at once are refused by default.
SSHD = """\
Port {port}
ListenAddress {address}
HostKey {keys}/host
AuthorizedKeysFile {keys}/client.pub
StrictModes no
PermitRootLogin yes
UsePAM no
UseDNS no
PidFile none
MaxStartups 500
MaxSessions 500
Subsystem sftp internal-sftp
"""


@contextmanager
def rclone(bench: Bench, node: Node, folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """The remote folder, and the options that lead there.

    A fresh server each time: its directory cache would otherwise believe in files of the run before.
    """
    program, password = require("rclone"), secrets.token_hex(12)
    hidden = subprocess.run([program, "obscure", password], capture_output=True, text=True, check=True).stdout.strip()
    serve = [program, "serve", "sftp", str(folder), "--addr", f"{node.address}:{PORT}"]
    login = ["--user", "bench", "--pass", password]
    with running([*serve, *login], bench.work / "rclone-server.log", node, NO_CONFIG) as server:
        listening(node, PORT, server)
        yield ":sftp:", [*_at(node), "--sftp-user", "bench", "--sftp-pass", hidden]


@contextmanager
def openssh(bench: Bench, node: Node, folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """The same with OpenSSH's server, with keys made for this run."""
    sshd, keys = require("sshd"), bench.folder("ssh-keys")
    Path("/run/sshd").mkdir(exist_ok=True)  # where the server locks itself in; /run is ours
    for name in ("host", "client"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)]
        subprocess.run(make, check=True, stdin=subprocess.DEVNULL)
    config = keys / "sshd.conf"
    config.write_text(SSHD.format(port=PORT, address=node.address, keys=keys))
    with running([sshd, "-D", "-e", "-f", str(config)], bench.work / "sshd.log", node) as server:
        listening(node, PORT, server)
        yield f":sftp:{folder}", [*_at(node), "--sftp-user", "root", "--sftp-key-file", str(keys / "client")]


def _at(node: Node) -> list[str]:
    return ["--sftp-host", node.address, "--sftp-port", str(PORT)]
