"""What syncing each batch of chunks costs, beside one sync at the end, on a disk.

One side is the daemon as it is. The other never syncs; the whole file system is synced when it has ended, which counts.
It is a new one (XFS, in a file on the disk that the project is on), so that no run waits for what others have left.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.data_plane import files
from bench.data_plane.bench import Bench, median, say
from bench.data_plane.network import command, network
from bench.data_plane.ours import Route, Transfer
from bench.results import Result

NODES = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}
BAR = 1.1
# Beside the benchmarks' results: where the project is, there is a disk.
IMAGE, DISK = Path("bench/out/disk.image").resolve(), Path("bench/out/disk").resolve()
IMAGE_BYTES = 6 << 30
TREES: dict[str, Callable[[Bench, Path], None]] = {
    "small": lambda bench, folder: files.small(folder, bench.size(20_000, 500), 10 << 10),
    "large": lambda bench, folder: files.large(folder, bench.size(2 << 30, 64 << 20)),
}


def run(bench: Bench) -> list[Result]:
    """Seconds with a sync for each batch, over those with one at the end."""
    if shutil.which("mkfs.xfs") is None:
        say("  durability: mkfs.xfs is missing. Run: apt-get install xfsprogs")
        return []
    with _disk(), network(NODES) as net:
        route = Route(net["sender"], net["receiver"])
        return [_compare(name, bench, route) for name in TREES]


@contextmanager
def _disk() -> Iterator[None]:
    """A new file system at `DISK`."""
    DISK.mkdir(parents=True, exist_ok=True)
    with IMAGE.open("wb") as image:
        image.truncate(IMAGE_BYTES)
    try:
        command("mkfs.xfs", "-q", "-f", str(IMAGE))
        command("mount", "-o", "loop", str(IMAGE), str(DISK))
        try:
            yield
        finally:
            command("umount", str(DISK))
    finally:
        IMAGE.unlink()
        DISK.rmdir()


def _compare(name: str, bench: Bench, route: Route) -> Result:
    source = bench.folder("source")
    TREES[name](bench, source)
    each = Transfer(bench, source, arrives=DISK / "destination")
    sides = {"each": each, "end": replace(each, unsynced=True)}
    found = bench.alternate({side: partial(_move, transfer, route) for side, transfer in sides.items()})
    seconds = {side: median([whole for _, whole in values]) for side, values in found.items()}
    last = median([whole - moved for moved, whole in found["end"]])
    note = f"{seconds['each']:.2f} s; {seconds['end']:.2f} s, of which the last sync {last:.2f} s"
    return Result(f"durability, {name}: each batch / at the end", seconds["each"] / seconds["end"], "×", BAR, note=note)


def _move(transfer: Transfer, route: Route) -> tuple[float, float]:
    """Seconds of the transfer, and until all is on the disk."""
    _settle()
    moved = transfer.move(route).seconds
    began = time.monotonic()
    _settle()
    say(f"    {moved:.2f} s and {time.monotonic() - began:.2f} s")
    return moved, moved + time.monotonic() - began


def _settle() -> None:
    command("sync", "--file-system", str(DISK))
