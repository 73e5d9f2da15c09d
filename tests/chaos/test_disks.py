"""Disks that are full or cannot be read: what arrives is whole, what does not is named; with room again all arrives.

Counted errors of both disks, by byte and call, are injected by `relay-ami/relay/tests/faults`, of which `make chaos`
runs three times as many as `make test`.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.data_plane.network import command
from local.cloud import namespaces_available
from tests.chaos.files import LARGE
from tests.chaos.transfer import under_way
from tests.e2e.files import tree

root = pytest.mark.skipif(not namespaces_available(), reason="needs root")

TOO_SMALL = 20  # MiB, of 60


def may_trace() -> bool:
    """Whether strace can tamper with a program's calls here."""
    strace = shutil.which("strace")
    trial = [strace or "", "-f", "-o", "/dev/null", "-e", "trace=none", "true"]
    return strace is not None and subprocess.run(trial, capture_output=True, check=False).returncode == 0


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Callable[[int], None]]:
    """The destination is a file system of its own; sets its size in MiB."""
    place = tmp_path / "destination"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={TOO_SMALL}m", "chaos", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody mount")
    try:
        yield lambda size: command("mount", "-o", f"remount,size={size}m", str(place))
    finally:
        command("umount", "--lazy", str(place))


@root
def test_a_full_disk_is_named_and_what_fits_is_whole(tmp_path: Path, source: Path, room: Callable[[int], None]) -> None:
    with under_way(tmp_path, source, attempts=1, patience=3) as transfer:
        ending = transfer.finish()
        assert ending["error"] == "DestinationFull"
        assert "No space left on device" in ending["cause"]
        assert not transfer.table.failed(), "no chunk is to blame"
        transfer.check_nothing_half()


@root
def test_all_arrives_once_there_is_room(tmp_path: Path, source: Path, room: Callable[[int], None]) -> None:
    with under_way(tmp_path, source) as transfer:
        table = transfer.table
        assert transfer.wait_until("a refusal", lambda: table.record("progress-r0").get("failedChunks", 0) > 0)
        room(200)
        transfer.check_arrived()


@pytest.mark.skipif(not may_trace(), reason="needs strace, which may trace")
def test_file_that_the_disk_does_not_give_back_is_named(tmp_path: Path, source: Path) -> None:
    reads = "read,pread64,readv,preadv"
    spoilt = ["-P", str(source / LARGE), "-e", f"trace={reads}", "-e", f"inject={reads}:error=EIO:when=20+"]
    strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", str(tmp_path / "calls"), *spoilt]
    with under_way(tmp_path, source, wrappers={"sender": strace}, attempts=2) as transfer:
        missing = transfer.check_arrived_but(tree(source), {LARGE.encode()}, {"source-unreadable"})
        assert missing == {LARGE.encode()}
