"""10 000 files of 10 KiB, a hundred to a folder: files per second, direct and by one pair, against rclone and rsync."""

from collections.abc import Callable

from bench.data_plane import files
from bench.data_plane.bench import Bench, median
from bench.data_plane.network import network
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.peers import rclone, rsync
from bench.data_plane.peers.programs import have
from bench.results import Result

NODES = {"sender": "10.0.0.1", "near": "10.0.0.2", "far": "10.1.0.2", "receiver": "10.1.0.1"}
BARS = {"direct": 19.0, "pair": 9.0}


def run(bench: Bench) -> list[Result]:
    """Ours over rclone's; rsync for information."""
    source = bench.folder("source")
    count = bench.size(10_000, 500)
    files.small(source, count, 10 << 10)
    ours = Transfer(bench, source)
    with network(NODES) as net:
        sender, receiver = net["sender"], net["receiver"]
        routes = {
            "direct": Route(sender, receiver),
            "pair": Route(sender, receiver, [(net["near"], net["far"])], direct=False),
        }

        setting, settings = "", rclone.installed(rclone.SMALL)

        def through(route: Route) -> Callable[[], float]:
            return lambda: ours.move(route).seconds

        def trial(name: str) -> Callable[[], float]:
            return lambda: rclone.copy(bench, source, sender, receiver, settings[name])

        sides = {name: through(route) for name, route in routes.items()}
        for side in sides.values():
            side()
            ours.check_arrived()
        if have("rclone"):
            have("sshd")
            setting = bench.fastest({name: trial(name) for name in settings})
            sides["rclone"] = trial(setting)
        if have("rsync"):
            sides["rsync"] = lambda: rsync.copy(bench, source, sender, receiver)
        rate = {name: count / median(seconds) for name, seconds in bench.alternate(sides).items()}
    results = []
    for name, bar in BARS.items():
        results.append(Result(f"small-files, {name}", rate[name], "files/s", better="higher"))
        if "rclone" in rate:
            note = f"rclone {rate['rclone']:.0f} files/s ({setting})"
            ratio = rate[name] / rate["rclone"]
            results.append(Result(f"small-files, {name} / rclone sftp", ratio, "×", bar, "higher", note))
        if "rsync" in rate:
            note = f"rsync {rate['rsync']:.0f} files/s (rsyncd, not encrypted)"
            results.append(Result(f"small-files, {name} / rsync", rate[name] / rate["rsync"], "×", note=note))
    return results
