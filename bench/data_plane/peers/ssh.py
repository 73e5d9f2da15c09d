"""rsync and tar through OpenSSH, as one copies a tree to another machine."""

from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.peers import sftp_servers
from bench.data_plane.peers.programs import require
from bench.data_plane.process import running

TIMEOUT = 900.0
CIPHER = "aes128-gcm@openssh.com"


def rsync(bench: Bench, source: Path, sender: Node, receiver: Node, *, sparse: bool = False) -> float:
    """Seconds from the client's start to its exit; the server is running already."""
    target = bench.folder("arrived")
    with sftp_servers.openssh(bench, receiver, target):
        argv = [require("rsync"), "--archive", "--whole-file", "--rsh", _shell(bench)]
        argv += ["--sparse" if sparse else "--inplace", f"{source}/", f"root@{receiver.address}:{target}/"]
        with running(argv, bench.work / "rsync.log", sender) as client:
            return client.wait(TIMEOUT).seconds


def tar(bench: Bench, source: Path, sender: Node, receiver: Node, *, sparse: bool = False) -> float:
    """The same for a tar at either end of a pipe."""
    target = bench.folder("arrived")
    with sftp_servers.openssh(bench, receiver, target):
        pack = f"tar --create {'--sparse ' if sparse else ''}--directory {source} --file - ."
        unpack = f"tar --extract --directory {target} --file -"
        line = f"{pack} | {_shell(bench)} root@{receiver.address} '{unpack}'"
        with running(["bash", "-o", "pipefail", "-c", line], bench.work / "tar.log", sender) as client:
            return client.wait(TIMEOUT).seconds


def _shell(bench: Bench) -> str:
    quiet = "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    key = bench.work / "ssh-keys" / "client"
    return f"ssh -F none -i {key} -c {CIPHER} -p {sftp_servers.PORT} {quiet}"
