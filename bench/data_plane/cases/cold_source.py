"""A large file on a disk behind a network, beside one reader of that disk.

Each read of the file system takes 10 ms, as from a disk that is not in the machine; others are answered meanwhile. The
reader (`dd`) has the kernel's own read-ahead, 128 KiB. The lane has to be ahead of it. fio, with many requests at once,
shows what such a disk can give.
"""

import importlib.util
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.data_plane import files
from bench.data_plane.bench import Bench, median, say
from bench.data_plane.network import command, network
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.peers import fio
from bench.data_plane.peers.programs import have
from bench.data_plane.process import running, until
from bench.results import Result

NODES = {"sender": "10.0.0.1", "receiver": "10.1.0.1"}
MILLISECONDS = 10
BYTES = 512 << 20
BARS = {"dd": 2.0, "fio": 0.9}
FIO_JOBS = 16


def run(bench: Bench) -> list[Result]:
    """How many times as fast as each reader."""
    if is_missing("cold-source"):
        return []
    kept = bench.folder("kept")
    files.large(kept, bench.size(BYTES, 16 << 20))
    with network(NODES) as net:
        route = Route(net["sender"], net["receiver"])

        def move() -> float:
            with cold(bench, kept) as source:
                side = Transfer(bench, source, chunk_mib=8)
                seconds = side.move(route).seconds
                side.check_arrived()
                return seconds

        def read() -> float:
            with cold(bench, kept) as source:
                begun = time.monotonic()
                command("dd", f"if={next(source.iterdir())}", "of=/dev/null", "bs=1M", "status=none")
                return time.monotonic() - begun

        def read_at_once() -> float:
            with cold(bench, kept) as source:
                return fio.read_file(bench, next(source.iterdir()), FIO_JOBS)

        sides = {"dd": read, "cpt": move}
        if have("fio"):
            sides["fio"] = read_at_once
        found = bench.alternate(sides)
    seconds = {side: median(values) for side, values in found.items()}
    ours = seconds.pop("cpt")
    return [
        Result(f"cold source / {peer}", taken / ours, "×", BARS[peer], "higher", f"{ours:.2f} s, {peer} {taken:.2f} s")
        for peer, taken in seconds.items()
    ]


def is_missing(case: str) -> bool:
    """Whether something is missing for such a disk; says what."""
    if importlib.util.find_spec("fuse") is None or shutil.which("fusermount") is None:
        say(f"  {case}: the package fusepy, or fusermount, is missing. Run: apt-get install fuse libfuse2")
        return True
    return False


@contextmanager
def cold(bench: Bench, kept: Path, look_milliseconds: int = 0) -> Iterator[Path]:
    """The files behind a network, of which nothing is in memory."""
    mountpoint = bench.folder("source")
    times = [str(MILLISECONDS), str(look_milliseconds)]
    argv = [sys.executable, "-m", "bench.data_plane.slow_files", str(kept), str(mountpoint), *times]
    with running(argv, bench.work / "slow-files.log") as program:
        until(mountpoint.is_mount, "the file system is mounted", [program])
        try:
            yield mountpoint
        finally:
            command("umount", "--lazy", str(mountpoint))
