"""The destination's disk is full: what fits is whole, what does not is named; with room again all arrives.

Counted errors of both disks, by byte and call, are injected by `relay-ami/relay/tests/faults`, of which `make chaos`
runs three times as many as `make test`.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.data_plane.network import command
from local.cloud import namespaces_available
from tests.chaos.transfer import under_way
from tests.e2e.files import tree

pytestmark = pytest.mark.skipif(not namespaces_available(), reason="needs root")

TOO_SMALL = 20  # MiB, of 60


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


def test_what_fits_is_whole_and_what_does_not_is_named(
    tmp_path: Path, source: Path, room: Callable[[int], None]
) -> None:
    with under_way(tmp_path, source, attempts=2) as transfer:
        before = tree(source)
        assert transfer.check_arrived_but(before, before, {"destination-error"})


def test_all_arrives_once_there_is_room(tmp_path: Path, source: Path, room: Callable[[int], None]) -> None:
    with under_way(tmp_path, source) as transfer:
        transfer.wait_until("a failed chunk", lambda: bool(transfer.table.events("Chunk Failed")))
        assert "No space left on device" in transfer.table.events("Chunk Failed")[0]["message"]
        room(200)
        transfer.check_arrived()
