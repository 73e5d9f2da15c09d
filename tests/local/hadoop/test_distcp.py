"""DistCp with several maps at once, on a real HDFS: as it comes, and as the benchmark sets it at its best."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bench.hdfs.site import BEST
from local.hadoop.cluster import HadoopCluster
from local.hadoop.distcp import PROGRAM, prepare_distcp, side_by_side
from local.hadoop.errors import HadoopMissingError
from local.hadoop.loopback import on_loopback
from local.hadoop.runtime import Runtime
from local.hadoop.settings import Options
from tests.chaos.extent import only_full

pytestmark = only_full

BLOCK_BYTES = 64 << 10
FILES = {f"file-{number}": os.urandom(17 * BLOCK_BYTES + number) for number in range(3)}
"""Each of 18 blocks: three parts with `-blocksperchunk 8`."""


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    try:
        return prepare_distcp()
    except HadoopMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def cluster(runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopCluster]:
    local = tmp_path_factory.mktemp("local")
    for name, content in FILES.items():
        (local / name).write_bytes(content)
    with on_loopback(runtime, tmp_path_factory.mktemp("cluster"), options=Options(block_bytes=BLOCK_BYTES)) as running:
        running.shell("-put", str(local), "/in")
        yield running


def copied(runtime: Runtime, cluster: HadoopCluster, work: Path, *asked: str) -> str:
    """What DistCp logs."""
    command = runtime.command(PROGRAM, cluster.conf, work, heap_mb=512, level="INFO")
    done = subprocess.run([*command, *side_by_side(3, work), *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def assert_same(cluster: HadoopCluster, folder: str) -> None:
    for name, content in FILES.items():
        assert cluster.shell("-cat", f"{folder}/{name}").encode(errors="surrogateescape") == content


def test_as_many_maps_run_at_once_as_are_asked_for(runtime: Runtime, cluster: HadoopCluster, tmp_path: Path) -> None:
    # At 0.5 MiB/s none of them is done before the others have begun.
    log = copied(runtime, cluster, tmp_path, "-bandwidth", "0.5", "-m", "3", "/in", "/stock")
    began, _, _ = log.partition("Finishing task")
    assert len(re.findall("Starting task: ", began)) == 3
    assert_same(cluster, "/stock")


@pytest.mark.parametrize("options", [BEST], ids=["at its best"])
def test_maps_that_take_their_work_from_a_common_folder_copy_parts_of_files(
    runtime: Runtime, cluster: HadoopCluster, tmp_path: Path, options: Sequence[str]
) -> None:
    log = copied(runtime, cluster, tmp_path, *options, "-m", "3", "/in", "/best")
    assert "DynamicInputFormat" in log
    assert_same(cluster, "/best")
    assert cluster.shell("-ls", "-C", "/best").split() == [f"/best/{name}" for name in FILES]
