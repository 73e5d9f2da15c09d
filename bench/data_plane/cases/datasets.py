"""Datasets as people have them, beside rclone, rsync and tar over the same link.

rsync and tar go through OpenSSH with AES-GCM, as on the way between two clouds; in the notes is what they take without
encryption. All three neither digest nor sync what they write, and this daemon does both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.data_plane import files, trees
from bench.data_plane.bench import Bench, median
from bench.data_plane.network import Node, network
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.peers import rclone, rsync, ssh
from bench.data_plane.peers.programs import have
from bench.data_plane.process import BenchError
from bench.results import Result

NODES = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}
BAR = 1.0
MIB = 1 << 20
SMALL = tuple(setting for setting in rclone.SMALL if "8" not in setting.options and "64" not in setting.options)
PHOTOS = tuple(
    rclone.Setting(server, "push", (*rclone.LARGE_PACKETS, "--transfers", transfers))
    for server in ("rclone", "sshd")
    for transfers in ("2", "4")
)


@dataclass(frozen=True)
class Dataset:
    """What is moved, and the settings of rclone of which the fastest is measured."""

    make: Callable[[Bench, Path], None]
    settings: Sequence[rclone.Setting]
    sparse: bool = False
    sample: Callable[[Bench, Path], None] | None = None
    """What the settings are tried on where the whole would take them minutes."""


def _small(bench: Bench, folder: Path) -> None:
    files.small(folder, bench.size(10_000, 500), 10 << 10)


DATASETS = {
    "10k-small": Dataset(_small, SMALL),
    "source-tree": Dataset(
        lambda bench, folder: trees.source_tree(folder, bench.size(100_000, 1_000)), SMALL, sample=_small
    ),
    "photos": Dataset(lambda bench, folder: trees.photos(folder, bench.size(2 << 30, 40 * MIB)), PHOTOS),
    "sparse-image": Dataset(
        lambda bench, folder: trees.sparse_image(folder, bench.size(4 << 30, 64 * MIB), bench.size(512, 8) * MIB),
        rclone.LARGE[3:5],
        sparse=True,
    ),
}


def run(name: str, bench: Bench) -> list[Result]:
    """How many times as fast as each peer."""
    dataset = DATASETS[name]
    with network(NODES) as net:
        sender, receiver = net["sender"], net["receiver"]
        setting = _fastest(bench, dataset, sender, receiver)
        source = bench.folder("source")
        dataset.make(bench, source)
        preserve = {"sparse": True} if dataset.sparse else None
        ours = Transfer(bench, source, preserve=preserve)
        route = Route(sender, receiver)
        ours.move(route)
        ours.check_arrived()
        if dataset.sparse and trees.blocks(bench.work / "arrived") > trees.blocks(source):
            raise BenchError("what arrived uses more blocks than what was sent")
        sides: dict[str, Callable[[], float]] = {"cpt": lambda: ours.move(route).seconds}
        ends = (bench, source, sender, receiver)
        if have("sshd") and have("rsync"):
            sides["rsync"] = partial(ssh.rsync, *ends, sparse=dataset.sparse)
            sides["tar"] = partial(ssh.tar, *ends, sparse=dataset.sparse)
        if have("rsync"):
            sides["rsyncd"] = partial(rsync.copy, *ends, sparse=dataset.sparse)
        if setting:
            sides["rclone"] = partial(rclone.copy, *ends, setting)
        seconds = {side: median(found) for side, found in bench.alternate(sides).items()}
    ours_seconds = seconds.pop("cpt")
    plain = seconds.pop("rsyncd", None)
    results = []
    for peer, taken in seconds.items():
        note = f"{ours_seconds:.2f} s, {peer} {taken:.2f} s" + (f" ({setting})" if peer == "rclone" else "")
        if peer == "rsync" and plain:
            note += f", not encrypted {plain:.2f} s"
        results.append(Result(f"{name} / {peer}", taken / ours_seconds, "×", BAR, "higher", note))
    return results


def _fastest(bench: Bench, dataset: Dataset, sender: Node, receiver: Node) -> rclone.Setting | None:
    if not have("rclone"):
        return None
    source = bench.folder("source")
    (dataset.sample or dataset.make)(bench, source)
    settings = rclone.installed(tuple(dataset.settings))
    trials = {name: partial(rclone.copy, bench, source, sender, receiver, each) for name, each in settings.items()}
    return settings[bench.fastest(trials)]
