"""WDT with AES-GCM: several ports, no digests. Its CPU seconds depend on the OpenSSL that it is built with."""

from dataclasses import dataclass
from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.peers.programs import require
from bench.data_plane.process import Program, running, until

PORTS = 2
TIMEOUT = 300.0


@dataclass(frozen=True)
class Moved:
    """Of both ends together: CPU time, and from the start of the sender to the exit of both."""

    seconds: float
    cpu_seconds: float


def move(bench: Bench, source: Path, sender: Node, receiver: Node, ports: int = PORTS) -> Moved:
    """Move a folder with so many ports, each a stream."""
    program, target, log = require("wdt"), bench.folder("arrived"), bench.work / "wdt-receive.log"
    common = [f"-num_ports={ports}", "-encryption_type=aes128gcm", "-minloglevel=2"]
    receive = [program, f"-directory={target}", f"-hostname={receiver.address}", *common]
    with running(receive, log, receiver) as receiving:
        url = _url(log, receiving)
        send = [program, f"-directory={source}", f"-connection_url={url}", *common]
        with running(send, bench.work / "wdt-send.log", sender) as sending:
            sent, received = sending.wait(TIMEOUT), receiving.wait(TIMEOUT)
            last = max(sending.started + sent.seconds, receiving.started + received.seconds)
            return Moved(last - sending.started, sent.cpu_seconds + received.cpu_seconds)


def _url(log: Path, receiving: Program) -> str:
    """What the receiver prints once it listens; the key is in it."""

    def found() -> list[str]:
        return [line.strip() for line in log.read_text().splitlines() if line.startswith("wdt://")]

    until(lambda: bool(found()), "the receiver's address", [receiving])
    return found()[0]
