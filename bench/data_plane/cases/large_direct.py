"""2 GiB in one file, two nodes, memory-backed files, encrypted, digest verified.

Timed: from the start of `cpt-relay send` until both ends have exited; the peers from the client's start to its exit,
their server already running. Lanes and chunk size are what the planner chooses in production.
"""

import os
from collections.abc import Callable

from bench.data_plane import files, rates
from bench.data_plane.arithmetic import GB, bound
from bench.data_plane.bench import Bench, median, say
from bench.data_plane.network import Node, network
from bench.data_plane.ours import Moved, Route, Transfer
from bench.data_plane.peers import iperf, rclone, rsync
from bench.data_plane.peers.programs import have
from bench.results import Result

NODES = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}
RCLONE_BAR, BOUND_BAR = 4.2, 0.8
IPERF_STREAMS = (2, 8)


def run(bench: Bench) -> list[Result]:
    """Our rate, as a multiple of rclone's and as a share of what the machine could do."""
    source, size = files.large_source(bench)
    ours = Transfer(bench, source)
    moves: list[Moved] = []
    with network(NODES) as net:
        sender, receiver = net["sender"], net["receiver"]
        route = Route(sender, receiver)
        say(f"  warm-up: {ours.move(route).seconds:.2f} s")
        ours.check_arrived()

        def move() -> float:
            moves.append(ours.move(route))
            return moves[-1].seconds

        sides: dict[str, Callable[[], float]] = {"cpt-relay": move}
        setting, settings = "", rclone.installed(rclone.LARGE)
        if have("rclone"):
            have("sshd")

            def trial(name: str) -> Callable[[], float]:
                return lambda: rclone.copy(bench, source, sender, receiver, settings[name])

            setting = bench.fastest({name: trial(name) for name in settings})
            sides["rclone"] = trial(setting)
        if have("rsync"):
            sides["rsync"] = lambda: rsync.copy(bench, source, sender, receiver)
        mb_s = {name: size / 1e6 / median(values) for name, values in bench.alternate(sides).items()}
        results = [_ours(size, mb_s["cpt-relay"], moves)]
        if "rclone" in mb_s:
            ratio = mb_s["cpt-relay"] / mb_s["rclone"]
            note = f"rclone {mb_s['rclone']:.0f} MB/s ({setting}; no checksum)"
            results.append(Result("large-direct / rclone sftp", ratio, "×", RCLONE_BAR, "higher", note))
        if "rsync" in mb_s:
            ratio = mb_s["cpt-relay"] / mb_s["rsync"]
            note = f"rsync {mb_s['rsync']:.0f} MB/s (rsyncd, not encrypted)"
            results.append(Result("large-direct / rsync", ratio, "×", note=note))
        if have("iperf3"):
            results += _bound(bench, sender, receiver, mb_s["cpt-relay"])
    return results


def _ours(size: int, mb_s: float, moves: list[Moved]) -> Result:
    def cpu(role: str) -> float:
        return median([move.ended[role].cpu_seconds for move in moves]) / size * GB

    note = f"CPU s/GB: sender {cpu('sender'):.2f}, receiver {cpu('receiver'):.2f}"
    return Result("large-direct", mb_s, "MB/s", better="higher", note=note)


def _bound(bench: Bench, sender: Node, receiver: Node, mb_s: float) -> list[Result]:
    seconds = 1 if bench.quick else 4
    links = [iperf.measure(bench, sender, receiver, streams, seconds) for streams in IPERF_STREAMS]
    read, write = rates.copying(bench.work / "source" / "large", bench.work / "copy")
    aes, hashing = rates.aes_gcm(), rates.hashing()
    steps = {
        "TCP": min(link.cpu_seconds_per_byte for link in links) * GB,
        "seal": aes,
        "open": aes,
        "hash at the sender": hashing,
        "hash at the receiver": hashing,
        "read": read,
        "write": write,
    }
    limit = bound(os.cpu_count() or 1, steps) / 1e6
    parts = ", ".join(f"{name} {cost:.3f}" for name, cost in steps.items())
    fastest = max(link.bytes_per_second for link in links) / 1e6
    return [
        Result(
            "large-direct / bound", mb_s / limit, "", BOUND_BAR, "higher", f"bound {limit:.0f} MB/s; CPU s/GB: {parts}"
        ),
        Result("iperf3", fastest, "MB/s", better="higher", note=f"best of {IPERF_STREAMS} streams"),
    ]
