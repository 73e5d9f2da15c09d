"""A destination that is one of the source's directories is known, whatever either machine calls it."""

import pytest

from lambdas.core.intake.overlap import Meeting, meetings
from lambdas.core.survey.survey import DestinationSurvey
from lambdas.core.survey.whereabouts import DirectoryWay, FileSystem, Whereabouts
from tests.lambdas.builders import survey
from tests.lambdas.hdfs import FAR, NEAR, way_in

OURS, THEIRS = "0b9f2c3e-5b0a-4d0e-9a53-3f1b8d0f6a11", "7f6a0a52-41f0-4f7e-8a52-bb0e64e8d0c2"
NFS = FileSystem(kind="nfs4", mount_point="/")
EXT4 = FileSystem(kind="ext4", mount_point="/")


def way(path: str, device: int, inodes: str, file_system: FileSystem = NFS, born: int = 0) -> DirectoryWay:
    """The way to a path, by the inodes of its directories; names beyond them do not exist."""
    names, numbers = [name for name in path.split("/") if name], inodes.split()
    return DirectoryWay(
        directories=[f"{device}:{inode}" for inode in numbers],
        names=names,
        births=[born and born + int(inode) for inode in numbers],
        file_system=file_system,
    )


def found(path: str, own: DirectoryWay, other: DirectoryWay, *, one_kernel: bool = False) -> list[Meeting]:
    destination: DestinationSurvey = survey().destination.model_copy(
        update={"ways": [other], "kernel": OURS if one_kernel else THEIRS}
    )
    return list(meetings(OURS, [Whereabouts(path=path, ways=[own])], destination))


@pytest.mark.parametrize(
    ("path", "source", "destination", "relation", "directory"),
    [
        # A release is copied beside itself; one machine has mounted the file system at another place.
        ("/x/releases/42/", ("/x/releases/42", "2 10 11 12"), ("/m/releases", "2 10 11"), "holds", "/x/releases/42/.."),
        ("/x/", ("/x", "2 10"), ("/m/backup/deep", "2 10 11 14"), "inside", "/x/backup/deep"),
        ("/x/", ("/x", "2 10"), ("/m/not/yet", "2 10"), "inside", "/x"),
        ("/x", ("/x", "2 10"), ("/m", "3 10"), "same", "/x"),
        # A file, or a link, would take its own place.
        ("/x/file", ("/x/file", "2 10"), ("/m", "3 10"), "holds", "/x"),
    ],
)
def test_a_directory_that_two_machines_see_is_a_meeting(
    path: str, source: tuple[str, str], destination: tuple[str, str], relation: str, directory: str
) -> None:
    (meeting,) = found(path, way(source[0], 52, source[1]), way(destination[0], 77, destination[1]))
    assert (meeting.relation, meeting.directory) == (relation, directory)
    assert (meeting.certain, meeting.by_birth) == (False, False), "inodes of two servers may be the same"


@pytest.mark.parametrize(
    ("source", "destination"),
    [
        (("/x/a", "2 10 11"), ("/x/b", "2 10 12")),
        (("/x/a", "2 10 11"), ("/x/a2/new", "2 10")),
        (("/x/file", "2 10"), ("/x/file/below", "2 10")),
    ],
)
def test_neighbours_are_apart(source: tuple[str, str], destination: tuple[str, str]) -> None:
    assert found(source[0], way(source[0], 52, source[1]), way(destination[0], 77, destination[1])) == []


def test_disks_of_two_machines_that_were_made_of_one_image_are_apart_and_those_of_one_machine_are_not() -> None:
    own, other = way("/srv", 66, "2 10", EXT4, born=5), way("/srv", 66, "2 10", EXT4, born=5)
    assert found("/srv", own, other) == []
    (meeting,) = found("/srv", own, other, one_kernel=True)
    assert meeting.certain
    assert found("/srv", own, way("/srv", 67, "2 10", EXT4), one_kernel=True) == [], "another disk of the machine"


def test_a_disk_that_its_machine_serves_to_the_other_is_met() -> None:
    (meeting,) = found("/srv", way("/srv", 66, "2 10", EXT4, born=5), way("/m", 77, "3 10"))
    assert not meeting.certain


def test_birth_tells_directories_of_one_inode_apart_where_both_know_it() -> None:
    assert found("/x", way("/x", 52, "2 10", born=5), way("/m", 77, "3 10", born=6)) == []
    (meeting,) = found("/x", way("/x", 52, "2 10", born=5), way("/m", 77, "3 10", born=5))
    assert meeting.by_birth


def at(location: str) -> FileSystem:
    return FileSystem(kind="nfs4", mount_point="/m", location=location)


def test_what_a_server_calls_both_is_enough_where_neither_machine_sees_the_other_directory() -> None:
    for source, destination, relation in [
        ("fs-1.example%3A/x", "fs-1.example%3A/x/backup", "inside"),
        ("fs-1.example%3A/x/42", "fs-1.example%3A/x", "holds"),
        ("fs-1.example%3A/x", "fs-1.example%3A/x", "same"),
    ]:
        (meeting,) = found("/m", way("/m", 52, "2 10", at(source)), way("/m", 77, "3 11", at(destination)))
        assert (meeting.relation, meeting.certain) == (relation, True)
    for source, destination in [("fs-1.example%3A/x", "fs-1.example%3A/x2"), ("one.example%3A/x", "two.example%3A/x")]:
        assert found("/m", way("/m", 52, "2 10", at(source)), way("/m", 77, "3 11", at(destination))) == []


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.5", "nfs", "user%40nfs"])
def test_a_name_that_two_networks_may_have_for_two_servers_is_looked_after(host: str) -> None:
    """A mount through a tunnel has the name of its own machine, whatever is behind it."""
    outer, inner = at(f"{host}%3A/x"), at(f"{host}%3A/x/backup/new")
    (meeting,) = found("/m/", way("/m", 52, "2 10", outer), way("/n/new", 77, "3 11", inner))
    assert (meeting.certain, meeting.directory) == (False, "/m/backup")
    assert found("/m/", way("/m", 52, "2 10", inner), way("/n", 77, "3 11", outer)) == []


@pytest.mark.parametrize("one_kernel", [False, True])
@pytest.mark.parametrize("there", [NEAR, FAR])
@pytest.mark.parametrize(
    ("path", "source", "destination", "relation", "directory"),
    [
        ("/a/b/", ("/a/b", "16385 10 11", ""), ("/a", "16385 10", ""), "holds", "/a"),
        ("/a/", ("/a", "16385 10", ""), ("/a/c", "16385 10 12", ""), "inside", "/a/c"),
        ("/a", ("/a", "16385 10", ""), ("/a", "16385 10", "not/yet"), "inside", "/a"),
        ("/a", ("/a", "16385 10", ""), ("/a", "16385 10", ""), "same", "/a"),
        ("/a/file", ("/a", "16385 10", "file"), ("/a", "16385 10", ""), "holds", "/a"),
        ("/a", ("/a", "16385 10", ""), ("/", "16385", ""), "holds", "/"),
    ],
)
def test_what_two_ends_see_of_one_cluster_is_a_meeting_of_which_a_mark_decides(
    path: str,
    source: tuple[str, str, str],
    destination: tuple[str, str, str],
    relation: str,
    directory: str,
    there: str,
    one_kernel: bool,
) -> None:
    own = way_in(NEAR, source[1], source[0], missing=source[2])
    other = way_in(there, destination[1], destination[0], missing=destination[2])
    (meeting,) = found(path, own, other, one_kernel=one_kernel)
    assert (meeting.relation, meeting.directory, meeting.certain) == (relation, directory, False)


@pytest.mark.parametrize("one_kernel", [False, True])
def test_directories_of_hdfs_with_other_inodes_are_apart_under_whatever_path(one_kernel: bool) -> None:
    own, other = way_in(NEAR, "16385 10", "/data"), way_in(FAR, "16385 11", "/data")
    assert found("/data", own, other, one_kernel=one_kernel) == []
    other = way_in(NEAR, "16385 12", "/data", missing="new")
    assert found("/data", own, other, one_kernel=one_kernel) == []


@pytest.mark.parametrize("one_kernel", [False, True])
@pytest.mark.parametrize("system", [NFS, EXT4])
def test_a_directory_of_a_machine_is_none_of_hdfs(system: FileSystem, one_kernel: bool) -> None:
    in_hdfs, local = way_in(NEAR, "2 10", "/x"), way("/x", 52, "2 10", system)
    assert found("/x", in_hdfs, local, one_kernel=one_kernel) == []
    assert found("/x", local, in_hdfs, one_kernel=one_kernel) == []
