"""Many small files on a disk behind a network, beside fio, rsync and tar on that disk.

Each read of the file system takes 10 ms, each look at a name 1 ms; others are answered meanwhile (but looks in one
directory, which FUSE makes one after the other). fio has a job for each folder.
"""

from bench.data_plane import files
from bench.data_plane.bench import Bench, median
from bench.data_plane.cases.cold_source import NODES, cold, is_missing
from bench.data_plane.network import network
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.peers import fio, ssh
from bench.data_plane.peers.programs import have
from bench.results import Result

FOLDERS = 32
LOOK_MILLISECONDS = 1
BARS = {"fio": 0.9, "rsync": 1.0, "tar": 1.0}


def run(bench: Bench) -> list[Result]:
    """How many times as fast as each."""
    if is_missing("cold-small"):
        return []
    kept = bench.folder("kept")
    files.small(kept, bench.size(FOLDERS * files.FOLDER_FILES, 400), 10 << 10)
    with network(NODES) as net:
        sender, receiver = net["sender"], net["receiver"]

        def move() -> float:
            with cold(bench, kept, LOOK_MILLISECONDS) as source:
                side = Transfer(bench, source)
                seconds = side.move(Route(sender, receiver)).seconds
                side.check_arrived()
                return seconds

        def read() -> float:
            with cold(bench, kept, LOOK_MILLISECONDS) as source:
                return fio.read_folders(bench, sorted(source.iterdir()))

        def by_rsync() -> float:
            with cold(bench, kept, LOOK_MILLISECONDS) as source:
                return ssh.rsync(bench, source, sender, receiver)

        def by_tar() -> float:
            with cold(bench, kept, LOOK_MILLISECONDS) as source:
                return ssh.tar(bench, source, sender, receiver)

        sides = {"cpt": move}
        if have("fio"):
            sides["fio"] = read
        if have("sshd") and have("rsync"):
            sides |= {"rsync": by_rsync, "tar": by_tar}
        seconds = {side: median(found) for side, found in bench.alternate(sides).items()}
    ours = seconds.pop("cpt")
    return [
        Result(
            f"cold small files / {peer}",
            taken / ours,
            "×",
            BARS[peer],
            "higher",
            f"{ours:.2f} s, {peer} {taken:.2f} s",
        )
        for peer, taken in seconds.items()
    ]
