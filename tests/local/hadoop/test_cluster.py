"""A real HDFS on loopback: files, faults of its daemons, and what its users may."""

import os
from collections.abc import Iterator

import pytest

from local.hadoop.cluster import HadoopCluster
from local.hadoop.errors import HadoopError
from local.hadoop.loopback import on_loopback
from local.hadoop.runtime import Runtime
from local.hadoop.settings import Options
from local.patches.objects.crc import CRCS

BLOCK_BYTES = 64 << 10
CONTENT = os.urandom(3 * BLOCK_BYTES + 5)


@pytest.fixture(scope="module")
def cluster(hadoop: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopCluster]:
    folder = tmp_path_factory.mktemp("with space")
    with on_loopback(hadoop, folder, options=Options(block_bytes=BLOCK_BYTES)) as running:
        yield running


@pytest.fixture(scope="module")
def file(cluster: HadoopCluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    local = tmp_path_factory.mktemp("local") / "file"
    local.write_bytes(CONTENT)
    cluster.shell("-put", str(local), "/file")
    return "/file"


def content(cluster: HadoopCluster, path: str) -> bytes:
    return cluster.shell("-cat", path).encode(errors="surrogateescape")


def test_a_file_comes_back_and_has_a_checksum_that_no_block_size_changes(cluster: HadoopCluster, file: str) -> None:
    assert content(cluster, file) == CONTENT
    said = cluster.shell("-Ddfs.checksum.combine.mode=COMPOSITE_CRC", "-checksum", file)
    assert said.split()[1:] == ["COMPOSITE-CRC32C", f"{CRCS['CRC32C'].of(CONTENT):08x}"]
    assert cluster.shell("-stat", "%o %r %b", file).split() == [str(BLOCK_BYTES), "2", str(len(CONTENT))]


def test_a_file_is_readable_while_either_data_node_is_dead(cluster: HadoopCluster, file: str) -> None:
    for daemon in cluster.data_nodes:
        daemon.kill()
        assert content(cluster, file) == CONTENT
        daemon.start()
        cluster.wait_live(2)


def test_a_name_node_that_was_killed_comes_back_with_its_files(cluster: HadoopCluster, file: str) -> None:
    cluster.name_node.kill()
    cluster.name_node.start()
    cluster.wait_live(2)
    assert content(cluster, file) == CONTENT


def test_permissions_lists_attributes_and_snapshots_are_there(cluster: HadoopCluster) -> None:
    with pytest.raises(HadoopError, match="Permission denied: user=alice"):
        cluster.shell("-mkdir", "/of-alice", user="alice")
    cluster.shell("-mkdir", "/common")
    cluster.shell("-setfacl", "-m", "user:alice:rwx", "/common")
    cluster.shell("-mkdir", "/common/of-alice", user="alice")
    cluster.shell("-setfattr", "-n", "user.note", "-v", "it is hers", "/common/of-alice")
    assert 'user.note="it is hers"' in cluster.shell("-getfattr", "-d", "/common/of-alice")
    cluster.hdfs("dfsadmin", "-allowSnapshot", "/common")
    cluster.shell("-createSnapshot", "/common", "first")
    assert "alice" in cluster.shell("-ls", "/common/.snapshot/first")


def test_a_daemon_that_ends_by_itself_is_told_of(cluster: HadoopCluster) -> None:
    data_node = cluster.data_nodes[0]
    os.kill(data_node.pid, 9)
    with pytest.raises(HadoopError, match="data-0 ended with code -9"):
        cluster.wait_live(1)
    data_node.kill()
    data_node.start()
    cluster.wait_live(2)
