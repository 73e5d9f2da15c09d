"""HDFS as an end: who reads or writes it, what its daemon is told, and what people read of it."""

from typing import Any

import pytest

from lambdas.core.ends.hdfs import DestinationHdfs, SourceHdfs
from lambdas.core.intake.destination_lock import overlaps
from lambdas.core.request.request import TransferRequest
from tests.lambdas.builders import DESTINATION_ID, request
from tests.lambdas.hdfs import hdfs_destination, hdfs_source

PATHS = ["/warehouse/sales", {"path": "/warehouse/.snapshot/s0/stock", "as": "2026/stock"}]


def source(**keys: Any) -> SourceHdfs:
    return SourceHdfs.from_document(hdfs_source(2, **keys))


def destination(**keys: Any) -> DestinationHdfs:
    return DestinationHdfs.from_document(hdfs_destination(2, **keys))


def test_its_daemon_is_told_user_and_paths_and_nothing_of_workers() -> None:
    assert source(paths=PATHS).command({}) == {"kind": "hdfs", "user": "etl", "paths": PATHS}
    assert source(runAs="hadoop").command({})["runAs"] == "hadoop"
    assert destination().command({}) == {"kind": "hdfs", "user": "etl", "path": "/backup"}


def test_what_files_are_to_be_like_is_told_in_bytes() -> None:
    told = destination(replication=2, blockSizeMiB=256).command({})
    assert (told["replication"], told["blockSizeBytes"]) == (2, 256 << 20)


def test_people_read_that_a_path_is_in_hdfs() -> None:
    found = source(paths=PATHS)
    assert found.where == "hdfs:/warehouse/sales, hdfs:/warehouse/.snapshot/s0/stock as 2026/stock"
    assert found.plain_paths == ["/warehouse/sales", "/warehouse/.snapshot/s0/stock"]
    assert (found.apart, found.tops, found.above) == (["sales", "2026/stock"], ["sales", "2026/stock"], ["2026"])
    assert destination().told(DESTINATION_ID) == f"'hdfs:/backup' by {DESTINATION_ID}"


def test_a_path_of_hdfs_does_not_overlap_with_the_same_path_on_its_worker() -> None:
    there = TransferRequest.from_document(request()).destination
    mine = destination(path="/restore")
    assert not overlaps(there.lock_path, mine.lock_path)
    assert overlaps(mine.lock_path, destination(path="/restore/below").lock_path)


@pytest.mark.parametrize("size", [1, 128, 1024, 128.0])
def test_blocks_have_sizes_that_are_powers_of_two(size: float) -> None:
    assert destination(blockSizeMiB=size).block_size_mib == size
