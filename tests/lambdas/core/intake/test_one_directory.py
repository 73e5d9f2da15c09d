"""Whether machines of one end see one directory, by what each says of its own file systems."""

import pytest

from lambdas.core.intake.one_directory import NOT_THERE, Verdict, doubts
from lambdas.core.survey.whereabouts import DirectoryWay, FileSystem, Whereabouts
from tests.lambdas.hdfs import FAR, NEAR, place_in

OURS, THEIRS = "0" * 8 + "-0000-0000-0000-" + "0" * 12, "1" * 8 + "-0000-0000-0000-" + "1" * 12
EFS = FileSystem(kind="nfs4", mount_point="/mnt", location="fs-1.efs.us-west-2.amazonaws.com%3A/data")
TUNNEL = FileSystem(kind="nfs4", mount_point="/mnt", location="127.0.0.1%3A/data")
DISK = FileSystem(kind="ext4", mount_point="/", id="0b1c")


def seen(
    system: FileSystem | None, directories: list[str], names: list[str], birth: int = 0, path: str = "/mnt/set"
) -> list[Whereabouts]:
    births = [0] * (len(directories) - 1) + [birth]
    way = DirectoryWay(directories=directories, names=names, births=births, file_system=system)
    return [Whereabouts(path=path, ways=[way])]


def first(system: FileSystem | None, birth: int = 0) -> list[Whereabouts]:
    return seen(system, ["1:2", "52:7"], ["set"], birth)


def there(system: FileSystem | None, inode: str = "99:7", birth: int = 0) -> list[Whereabouts]:
    return seen(system, ["1:2", inode], ["set", NOT_THERE], birth, f"/mnt/set/{NOT_THERE}")


@pytest.mark.parametrize(
    ("own", "other", "kernel", "verdict"),
    [
        (first(EFS), there(EFS), THEIRS, Verdict.SAME),
        (first(EFS), there(EFS, "99:8"), THEIRS, Verdict.OTHER),
        (first(EFS, 5), there(EFS, birth=6), THEIRS, Verdict.OTHER),
        (first(TUNNEL), there(TUNNEL), THEIRS, Verdict.UNKNOWN),
        (first(TUNNEL, 5), there(TUNNEL, birth=5), THEIRS, Verdict.SAME),
        (first(EFS), there(TUNNEL), THEIRS, Verdict.UNKNOWN),
        (first(DISK), there(DISK), THEIRS, Verdict.OTHER),
        (first(EFS), there(DISK), THEIRS, Verdict.OTHER),
        (first(None), there(None), THEIRS, Verdict.UNKNOWN),
        (first(DISK), there(DISK, "52:7"), OURS, Verdict.SAME),
        (first(DISK), there(DISK, "52:8"), OURS, Verdict.OTHER),
        (first(EFS), [], THEIRS, Verdict.UNKNOWN),
    ],
)
def test_a_directory_is_one_where_server_or_birth_prove_it(
    own: list[Whereabouts], other: list[Whereabouts], kernel: str, verdict: Verdict
) -> None:
    found = doubts(OURS, own, kernel, other)
    assert [doubt.verdict for doubt in found] == ([] if verdict is Verdict.SAME else [verdict])


def test_a_path_that_is_not_there_is_said_so() -> None:
    other = seen(EFS, ["1:2"], ["set", NOT_THERE], path=f"/mnt/set/{NOT_THERE}")
    (doubt,) = doubts(OURS, first(EFS), THEIRS, other)
    assert (doubt.verdict, doubt.here) == (Verdict.OTHER, "it is not there")


def test_a_file_is_known_by_the_directory_that_holds_it() -> None:
    own = seen(EFS, ["1:2", "52:7"], ["set", "file"], path="/mnt/set/file")
    other = seen(EFS, ["1:2", "99:7", "99:12"], ["set", "file", NOT_THERE], path=f"/mnt/set/file/{NOT_THERE}")
    assert doubts(OURS, own, THEIRS, other) == []
    other = seen(EFS, ["1:2", "99:8", "99:12"], ["set", "file", NOT_THERE], path=f"/mnt/set/file/{NOT_THERE}")
    assert [doubt.verdict for doubt in doubts(OURS, own, THEIRS, other)] == [Verdict.OTHER]


@pytest.mark.parametrize("kernel", [OURS, THEIRS])
@pytest.mark.parametrize(
    ("cluster", "inodes", "verdict"),
    [
        (NEAR, "16385 16391 16417", Verdict.SAME),
        (NEAR, "16385 16391 16418", Verdict.OTHER),
        # One cluster may be known by its name service and by its name node.
        (FAR, "16385 16391 16417", Verdict.UNKNOWN),
        (FAR, "16385 16391 16418", Verdict.OTHER),
        (None, "16385 16391 16417", Verdict.UNKNOWN),
    ],
)
def test_two_workers_see_one_directory_of_hdfs_where_cluster_and_inode_are_one(
    kernel: str, cluster: str | None, inodes: str, verdict: Verdict
) -> None:
    own = [place_in(NEAR, "16385 16391 16417", "/warehouse/sales")]
    other = [place_in(cluster, inodes, "/warehouse/sales", missing=NOT_THERE)]
    assert [doubt.verdict for doubt in doubts(OURS, own, kernel, other)] == (
        [verdict] if verdict != Verdict.SAME else []
    )


@pytest.mark.parametrize("kernel", [OURS, THEIRS])
@pytest.mark.parametrize("system", [DISK, EFS, TUNNEL, None])
def test_a_directory_of_a_machines_own_is_none_of_hdfs(system: FileSystem | None, kernel: str) -> None:
    path = "/mnt/set"
    in_hdfs = place_in(NEAR, "2 7", path)
    (doubt,) = doubts(OURS, first(system), kernel, [place_in(NEAR, "2 7", path, missing=NOT_THERE)])
    assert doubt.verdict is Verdict.OTHER
    (doubt,) = doubts(OURS, [in_hdfs], kernel, there(system))
    assert doubt.verdict is Verdict.OTHER


def test_a_file_of_hdfs_is_known_by_the_directory_that_holds_it() -> None:
    own = [place_in(NEAR, "16385 16391", "/warehouse", missing="file")]
    for inodes, missing in (("16385 16391", f"file/{NOT_THERE}"), ("16385 16391 16420", NOT_THERE)):
        path = "/warehouse" if "/" in missing else "/warehouse/file"
        assert doubts(OURS, own, THEIRS, [place_in(NEAR, inodes, path, missing=missing)]) == []


def test_a_path_of_hdfs_that_another_worker_does_not_see_is_said_so() -> None:
    own = [place_in(NEAR, "16385 16391 16417", "/warehouse/sales")]
    (doubt,) = doubts(OURS, own, THEIRS, [place_in(NEAR, "16385", "/", missing=f"warehouse/sales/{NOT_THERE}")])
    assert (doubt.verdict, doubt.here) == (Verdict.OTHER, "it is not there")
