"""Chunks that become files of HDFS are whole blocks, as `concat` wants them."""

from typing import Any

import pytest

from lambdas.core.chunks import whole_blocks
from lambdas.core.chunks.plan import LARGEST_AUTO_MIB, MIB, SMALLEST_AUTO_MIB
from tests.lambdas.builders import transfer
from tests.lambdas.hdfs import between_clusters, from_bucket_to_hdfs, from_hdfs_to_bucket, hdfs_source

USUAL = [mib * MIB for mib in (SMALLEST_AUTO_MIB, 8, LARGEST_AUTO_MIB)]


@pytest.mark.parametrize("usual", USUAL)
@pytest.mark.parametrize(("keys", "mib"), [({}, 128), ({"blockSizeMiB": 256}, 256), ({"blockSizeMiB": 128}, 128)])
def test_a_chunk_has_a_block_at_least(usual: int, keys: dict[str, Any], mib: int) -> None:
    assert whole_blocks.usual_bytes(between_clusters(destination=keys), usual) == mib * MIB
    assert whole_blocks.usual_bytes(from_bucket_to_hdfs(destination=keys), usual) == mib * MIB


@pytest.mark.parametrize("usual", USUAL)
@pytest.mark.parametrize("block", [1, 2, 16])
def test_of_small_blocks_it_has_a_whole_number(usual: int, block: int) -> None:
    found = whole_blocks.usual_bytes(between_clusters(destination={"blockSizeMiB": block}), usual)
    assert found == max(usual, block * MIB)
    assert found % (block * MIB) == 0


def test_a_size_that_was_asked_for_stays() -> None:
    assert whole_blocks.usual_bytes(between_clusters(chunkSizeMiB=64), 64 * MIB) == 64 * MIB


def test_chunks_to_other_ends_stay_as_they_are() -> None:
    for accepted in (transfer(), transfer(source=hdfs_source()), from_hdfs_to_bucket()):
        assert whole_blocks.usual_bytes(accepted, 8 * MIB) == 8 * MIB
