"""Staged copies between two real HDFS: every byte arrives as asked, and nothing stays staged, however a copy ends.

What moves the files between the two folders here is `cp`; the product does in test_staged_site.
"""

import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.hdfs.staged_job import STEPS, StagedJob, StagingError, Step
from bench.hdfs.staged_run import copy_staged
from bench.hdfs.staged_side import Side
from local.hadoop.cluster import HadoopCluster
from local.hadoop.errors import HadoopMissingError
from local.hadoop.loopback import on_loopback
from local.hadoop.runtime import Runtime
from local.hadoop.settings import Options
from local.hadoop.shared_classes import prepare
from tests.chaos.extent import only_full

pytestmark = only_full

SIZES = {"first.bin": 3_000_000, "second.bin": 70_000, "empty.bin": 0}
JOB = StagedJob(("/in/set",), "/out/set-of-2", replication=1)


@pytest.fixture(scope="module")
def hadoop() -> Runtime:
    try:
        return prepare()
    except HadoopMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def clusters(hadoop: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HadoopCluster, ...]]:
    randomness = random.Random(7)
    folder = tmp_path_factory.mktemp("set")
    for name, size in SIZES.items():
        (folder / name).write_bytes(randomness.randbytes(size))
    options = Options(block_bytes=1 << 20)
    with (
        on_loopback(hadoop, tmp_path_factory.mktemp("first"), 2, options) as first,
        on_loopback(hadoop, tmp_path_factory.mktemp("second"), 2, options) as second,
    ):
        first.shell("-mkdir", "-p", "/in/set/deep")
        first.shell("-put", *map(str, sorted(folder.iterdir())), "/in/set")
        first.shell("-cp", "/in/set/second.bin", "/in/set/deep/third.bin")
        yield first, second


@pytest.fixture
def sides(clusters: tuple[HadoopCluster, ...], tmp_path: Path) -> tuple[Side, Side]:
    first, second = clusters
    return Side("source", first, tmp_path / "staging-1"), Side("destination", second, tmp_path / "staging-2")


def move(source: str, destination: Path) -> dict[str, Any]:
    what = f"{source}." if source.endswith("/") else source
    subprocess.run(["cp", "--recursive", what, str(destination)], check=True)
    return {"moved": source}


def counted(fails_at: Step, raised: Callable[[], object]) -> Callable[[Step], None]:
    """Does what is to be done as that step begins; each begins once."""

    def told(step: Step) -> None:
        if step == fails_at:
            raised()

    return told


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard, also where whoever started the tests lets it be ignored, as a shell does in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def refuse() -> None:
    raise OSError("no more of it")


def assert_nothing_staged(sides: tuple[Side, Side]) -> None:
    assert [side.staging.exists() for side in sides] == [False, False]


@pytest.mark.parametrize("bundle", ["never", "tar", "auto"])
def test_every_byte_arrives_with_the_replication_asked_for(sides: tuple[Side, Side], bundle: Any) -> None:
    job = StagedJob(("/in/set",), f"/out/by-{bundle}", replication=1, bundle=bundle)
    begun: list[Step] = []
    found = copy_staged(job, *sides, move, begun.append)
    tar = bundle != "never"
    assert begun == [step for step in STEPS if tar or step not in ("bundle", "unbundle")]
    assert [span.step for span in found.spans] == begun[:-1]
    assert (found.data_bytes, found.files) == (3_140_000, 4)
    assert found.bundle == ("tar" if tar else "never")
    assert found.report["moved"].endswith("tree.tar" if tar else "tree/")
    assert found.stages.seconds == pytest.approx(sum(span.end - span.begin for span in found.spans))
    listed = sides[1].shell("-ls", "-R", job.into).splitlines()
    files = [line.split() for line in listed if line.startswith("-")]
    assert {(line[1], int(line[4]), line[7].removeprefix(f"{job.into}/set/")) for line in files} == {
        ("1", 3_000_000, "first.bin"),
        ("1", 70_000, "second.bin"),
        ("1", 0, "empty.bin"),
        ("1", 70_000, "deep/third.bin"),
    }
    assert_nothing_staged(sides)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("raised", "error"),
    [(refuse, OSError), (lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt)],
    ids=["fault", "ctrl-c"],
)
def test_nothing_stays_staged_wherever_it_ends(
    sides: tuple[Side, Side], step: Step, raised: Callable[[], object], error: type[BaseException]
) -> None:
    job = StagedJob(("/in/set/deep",), f"/out/ends-{step}-{error.__name__}", bundle="tar")
    with pytest.raises(error):
        copy_staged(job, *sides, move, counted(step, raised))
    assert_nothing_staged(sides)


def test_a_failed_export_transfer_or_import_names_its_side_and_leaves_nothing(sides: tuple[Side, Side]) -> None:
    with pytest.raises(StagingError, match=r"source: FsShell .*/in/nothing.*No such file"):
        copy_staged(StagedJob(("/in/nothing",), "/out"), *sides, move)
    assert_nothing_staged(sides)
    with pytest.raises(subprocess.CalledProcessError):
        copy_staged(JOB, *sides, lambda source, into: move(source, into / "nowhere" / "at all"))
    assert_nothing_staged(sides)
    sides[1].cluster.hdfs("dfsadmin", "-safemode", "enter")
    try:
        with pytest.raises(StagingError, match=r"destination: FsShell .*safe mode"):
            copy_staged(JOB, *sides, move)
    finally:
        sides[1].cluster.hdfs("dfsadmin", "-safemode", "leave")
    assert_nothing_staged(sides)


def test_bytes_that_a_transfer_spoiled_are_found(sides: tuple[Side, Side]) -> None:
    def spoiling(source: str, destination: Path) -> dict[str, Any]:
        report = move(source, destination)
        with (destination / "set" / "first.bin").open("r+b") as file:
            file.write(b"x")
        return report

    with pytest.raises(StagingError, match=r"gives back other bytes of set/first\.bin"):
        copy_staged(StagedJob(("/in/set",), "/out/spoiled"), *sides, spoiling)
    assert_nothing_staged(sides)


def test_a_folder_that_is_there_stays_as_it_was(sides: tuple[Side, Side]) -> None:
    sides[1].staging.mkdir()
    (sides[1].staging / "of somebody").write_bytes(b"kept")
    with pytest.raises(StagingError, match=r"destination: .*staging-2 is there already"):
        copy_staged(JOB, *sides, move)
    assert (sides[1].staging / "of somebody").read_bytes() == b"kept"
    assert not sides[0].staging.exists()
