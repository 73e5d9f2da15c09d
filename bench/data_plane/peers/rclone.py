"""rclone over sftp, at whatever settings are fastest here.

No checksum is compared afterwards (`--sftp-disable-hashcheck`), sparing the peer a pass over the data that we make.
`--inplace` and `--no-check-dest` spare it a rename and a look at the destination for each file.
"""

from dataclasses import dataclass
from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.peers import sftp_servers
from bench.data_plane.peers.programs import PEERS, require
from bench.data_plane.process import running

TIMEOUT = 600.0
SERVERS = {"rclone": sftp_servers.rclone, "sshd": sftp_servers.openssh}
GCM = ("--sftp-ciphers", "aes128-gcm@openssh.com")
COMMON = ("--sftp-disable-hashcheck", "--sftp-known-hosts-file", "none", "--no-check-dest", *GCM)
# Before, there was nothing else.
INPLACE_SINCE = (1, 63)
LARGE_PACKETS = ("--sftp-chunk-size", "255k")
ONE_STREAM = ("--multi-thread-streams", "0")


@dataclass(frozen=True)
class Setting:
    """Who serves, which way, and the client's options."""

    server: str
    way: str
    """`push`: the client is at the sender and writes to the server; `pull`: it is at the receiver and reads from it."""
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([f"{self.way}, {self.server} serves", *self.options])


# Larger packets break a pull from rclone's own server ("sizes differ").
LARGE = (
    Setting("rclone", "push", LARGE_PACKETS),
    Setting("rclone", "push", (*LARGE_PACKETS, "--buffer-size", "0")),
    Setting("rclone", "pull", ONE_STREAM),
    Setting("sshd", "push", LARGE_PACKETS),
    Setting("sshd", "push", (*LARGE_PACKETS, "--buffer-size", "0")),
    Setting("sshd", "push", (*LARGE_PACKETS, "--sftp-concurrency", "256")),
    Setting("sshd", "pull", ONE_STREAM),
    Setting("sshd", "pull", ("--multi-thread-streams", "2")),
)
SMALL = tuple(
    Setting(server, way, ("--transfers", str(transfers), "--checkers", str(transfers)))
    for server, way, transfers in (
        ("rclone", "push", 2),
        ("rclone", "push", 4),
        ("rclone", "push", 8),
        ("rclone", "push", 64),
        ("rclone", "pull", 4),
        ("sshd", "push", 2),
        ("sshd", "push", 4),
        ("sshd", "push", 16),
        ("sshd", "pull", 4),
    )
)


def installed(settings: tuple[Setting, ...]) -> dict[str, Setting]:
    """Those whose server is here, by name."""
    return {str(setting): setting for setting in settings if PEERS[setting.server].path()}


def copy(bench: Bench, source: Path, sender: Node, receiver: Node, setting: Setting) -> float:
    """Seconds from the client's start to its exit; the server is running already."""
    push, target = setting.way == "push", bench.folder("arrived")
    client, server = (sender, receiver) if push else (receiver, sender)
    with SERVERS[setting.server](bench, server, target if push else source) as (remote, login):
        ends = [str(source), remote] if push else [remote, str(target)]
        in_place = ["--inplace"] if _version() >= INPLACE_SINCE else []
        argv = [require("rclone"), "copy", *ends, *login, *COMMON, *in_place, *setting.options]
        with running(argv, bench.work / "rclone.log", client, sftp_servers.NO_CONFIG) as program:
            return program.wait(TIMEOUT).seconds


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in (PEERS["rclone"].version() or "0.0").split(".")[:2])
