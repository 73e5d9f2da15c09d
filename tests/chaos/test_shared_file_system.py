"""The shared file system that other tests stand on is one: what a client has closed, another one sees."""

import logging
import os
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.chaos.extent import only_full
from tests.chaos.shared_file_system import SharedFileSystem, shared_file_system

LOG = logging.getLogger(__name__)
MEGABYTES = 64

pytestmark = only_full


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[SharedFileSystem]:
    with shared_file_system(tmp_path_factory.mktemp("volume"), clients=2) as volume:
        yield volume


def test_what_one_client_has_closed_another_one_opens(shared: SharedFileSystem) -> None:
    one, other = shared.mounts
    (one / "d").mkdir()
    (one / "d" / "f").write_bytes(b"of one")
    assert (other / "d" / "f").read_bytes() == b"of one"
    (other / "d" / "f").write_bytes(b"of the other one")
    assert (one / "d" / "f").read_bytes() == b"of the other one"
    (one / "d" / "f").rename(one / "g")
    assert (other / "g").read_bytes() == b"of the other one"
    assert os.stat(one / "g").st_ino == os.stat(other / "g").st_ino


def test_two_clients_write_parts_of_one_file(shared: SharedFileSystem) -> None:
    begun = time.monotonic()
    for number, mount in enumerate(shared.mounts):
        part = bytes([number]) * 1_000_000
        with (mount / "f").open("r+b" if number else "wb") as file:
            file.seek(number * MEGABYTES * 1_000_000)
            for _ in range(MEGABYTES):
                file.write(part)
            os.fsync(file.fileno())
    seconds = time.monotonic() - begun
    LOG.info("two clients in turn wrote %.0f MB/s", 2 * MEGABYTES / seconds)
    begun = time.monotonic()
    for mount in shared.mounts:
        with (mount / "f").open("rb") as file:
            for number in range(len(shared.mounts)):
                for _ in range(MEGABYTES):
                    assert file.read(1_000_000) == bytes([number]) * 1_000_000
    seconds = time.monotonic() - begun
    LOG.info("two clients in turn read %.0f MB/s", 4 * MEGABYTES / seconds)


def test_two_clients_write_at_the_same_time(shared: SharedFileSystem) -> None:
    begun = time.monotonic()
    with ThreadPoolExecutor() as pool:
        wrote = list(pool.map(_write, [mount / f"f{number}" for number, mount in enumerate(shared.mounts)]))
    assert wrote == [MEGABYTES * 1_000_000] * 2
    LOG.info("two clients at once wrote %.0f MB/s", 2 * MEGABYTES / (time.monotonic() - begun))
    assert [(shared.mounts[0] / name).stat().st_size for name in ("f0", "f1")] == wrote


def _write(path: Path) -> int:
    with path.open("wb") as file:
        for _ in range(MEGABYTES):
            file.write(bytes(1_000_000))
        os.fsync(file.fileno())
        return file.tell()
