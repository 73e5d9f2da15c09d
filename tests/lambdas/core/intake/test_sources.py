"""A source that is on another disk than before is not what it was, however little it has."""

import pytest

from lambdas.core.intake.sources import exchanged, mirror_key
from lambdas.core.survey.whereabouts import FileSystem, SourcePath
from tests.lambdas.builders import transfer
from tests.lambdas.hdfs import CLUSTER, OTHER_CLUSTER, between_clusters, hdfs_source

DISK = FileSystem(kind="ext4", mount_point="/srv/media", id="0b9f2c3e")
ROOT = FileSystem(kind="ext4", mount_point="/", id="7f6a0a52")
MEMORY = FileSystem(kind="tmpfs", mount_point="/srv/media")


def lines(before: FileSystem, now: FileSystem, path: str = "/srv/media/") -> list[str]:
    was, is_ = SourcePath(path="/srv/media/", file_system=before), SourcePath(path=path, file_system=now)
    return list(exchanged([was], [is_], "when 'nightly' began"))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (DISK, ROOT),
        (DISK, DISK.model_copy(update={"id": "another"})),
        (DISK, MEMORY),
        (MEMORY, MEMORY.model_copy(update={"mount_point": "/"})),
        (DISK.model_copy(update={"id": None}), ROOT),
    ],
)
def test_an_unmounted_or_exchanged_disk_is_named_with_both(before: FileSystem, now: FileSystem) -> None:
    (line,) = lines(before, now)
    for word in ("'/srv/media/' was on another file system", before.words(), "when 'nightly' began", now.words()):
        assert word in line


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (DISK, DISK),
        (DISK, DISK.model_copy(update={"mount_point": "/mnt", "kind": "fuseblk"})),
        (DISK, DISK.model_copy(update={"id": None})),
        (MEMORY, MEMORY),
    ],
)
def test_the_same_disk_is_the_same_wherever_it_is_mounted(before: FileSystem, now: FileSystem) -> None:
    assert lines(before, now) == []


def test_a_path_of_which_nothing_is_known_is_taken_as_it_is() -> None:
    assert lines(DISK, ROOT, "/srv/new/") == []


def test_a_mirror_is_known_by_its_ends_and_their_paths_alone() -> None:
    one = mirror_key(transfer("monday"))
    assert mirror_key(transfer("tuesday", arn="arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:b")) == one
    asked = transfer().request
    for change in (
        {"source": asked.source.model_copy(update={"paths": ["/other"]})},
        {"destination": asked.destination.model_copy(update={"path": "/other"})},
    ):
        other = transfer().model_copy(update={"request": asked.model_copy(update=change)})
        assert mirror_key(other) != one


def test_a_path_of_hdfs_is_another_source_than_the_same_path_on_its_worker() -> None:
    paths = ["/data/set"]
    assert mirror_key(transfer(source=hdfs_source(paths=paths))) != mirror_key(transfer())
    there = SourcePath(path="/data", file_system=FileSystem(kind="hdfs", mount_point="/", id="hdfs%3A//a"))
    other = there.model_copy(update={"file_system": FileSystem(kind="hdfs", mount_point="/", id="hdfs%3A//b")})
    assert len(list(exchanged([there], [other], "before"))) == 1, "another cluster"


def test_a_mirror_of_a_cluster_is_known_whichever_of_its_workers_serve() -> None:
    one, other = {"clusterId": CLUSTER}, {"clusterId": OTHER_CLUSTER}
    key = mirror_key(between_clusters(2, 2, source=one, destination=other))
    assert mirror_key(between_clusters(3, 1, source=one, destination=other)) == key
    assert mirror_key(between_clusters(2, 2, source=other, destination=one)) != key
    assert mirror_key(between_clusters(2, 2)) != key
