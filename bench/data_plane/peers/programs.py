"""Where the peers are, which versions, and how to get those that are missing."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.data_plane.process import BenchError


@dataclass(frozen=True)
class Peer:
    """A program, how it tells its version, and how to install it."""

    name: str
    version_command: str
    install: str

    def path(self) -> str | None:
        """Where it is; Go's own folder counts too."""
        at_go = Path.home() / "go" / "bin" / self.name
        return shutil.which(self.name) or (str(at_go) if at_go.exists() else None)

    def version(self) -> str | None:
        """The first thing in its answer that looks like a version; None if it is not installed."""
        path = self.path()
        if path is None:
            return None
        done = subprocess.run([path, *self.version_command.split()], capture_output=True, text=True, check=False)
        return first_version(done.stdout + done.stderr)


def first_version(text: str) -> str:
    """The first dotted number of a text, with its suffix."""
    found = re.search(r"\d+\.\d+[\w.+-]*", text)
    return found.group() if found else "unknown"


PEERS = {
    peer.name: peer
    for peer in (
        Peer("rclone", "version", "go install github.com/rclone/rclone@latest"),
        Peer("sshd", "-V", "apt-get install openssh-server; without it rclone serves sftp itself, at half the speed"),
        Peer("rsync", "--version", "apt-get install rsync"),
        Peer("fio", "--version", "apt-get install fio"),
        Peer("wdt", "--version", "built from github.com/facebook/wdt with folly v2024.01.01"),
        Peer("iperf3", "--version", "apt-get install iperf3"),
        Peer("haproxy", "-v", "apt-get install haproxy"),
        Peer("socat", "-V", "apt-get install socat"),
    )
}

NO_SKYPLANE = "skyplane is left out: its gateways (0.3.2) need an environment of their own (numpy < 2, pandas < 2.2)"


_missed: set[str] = set()


def missed() -> list[Peer]:
    """Peers whose rows were left out."""
    return [peer for name, peer in PEERS.items() if name in _missed]


def have(name: str) -> bool:
    """Whether a peer is installed; says how to install it if not, since its rows are then left out."""
    if PEERS[name].path() is not None:
        return True
    _missed.add(name)
    print(f"  {name} is not installed ({PEERS[name].install}): its rows are left out", file=sys.stderr)
    return False


def require(name: str) -> str:
    """Path of a peer that `have` found."""
    path = PEERS[name].path()
    if path is None:
        raise BenchError(f"{name} is not installed ({PEERS[name].install})")
    return path


def versions() -> dict[str, str]:
    """Versions of all peers that are installed."""
    found = {name: peer.version() for name, peer in PEERS.items()}
    return {name: version for name, version in found.items() if version}
