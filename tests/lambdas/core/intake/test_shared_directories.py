"""Directories of a network file system are known whatever machine looks, and by whatever path."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from lambdas.core.intake.destination_lock import Way, lead_together
from lambdas.core.intake.shared_directories import shared_ways
from lambdas.core.survey.survey import DestinationSurvey
from lambdas.core.survey.whereabouts import DirectoryWay, FileSystem
from tests.lambdas.builders import survey
from tests.lambdas.hdfs import FAR, NEAR, way_in

EFS = "fs-1.efs.us-west-2.amazonaws.com"
Path = tuple[str, ...]


@dataclass(frozen=True)
class Mount:
    """A directory of a server as one machine mounts it; `device`: that machine's number for it."""

    exported: Path = ()
    device: int = 52
    point: Path = ("mnt",)
    server: str = EFS
    births: bool = True
    names: bool = True
    vpc: str = "vpc-1"
    kind: str = "nfs4"

    def destination(self, path: Path, existing: int, disk: str = "one") -> DestinationSurvey:
        """Its survey of a destination, by the server's path of which so many names exist."""
        inside = path[len(self.exported) :]
        there = [path[:at] for at in range(len(self.exported), max(existing, len(self.exported)) + 1)]
        own = [f"1:{at + 2}" for at in range(len(self.point))]
        birth = [hash((disk, one)) % 10**18 + 1 if self.births else 0 for one in there]
        location = "/".join((f"{self.server}%3A", *path)) if self.names else None
        way = DirectoryWay(
            directories=[*own, *(f"{self.device}:{hash((disk, one, 'inode')) % 10**9}" for one in there)],
            names=[*self.point, *inside],
            births=[*([7] * len(own)), *birth],
            file_system=FileSystem(kind=self.kind, mount_point="/mnt", location=location),
        )
        return survey().destination.model_copy(update={"ways": [way]})


def meet(one: tuple[Mount, Path, int], other: tuple[Mount, Path, int], disks: tuple[str, str] = ("one", "one")) -> bool:
    ways = [
        shared_ways([mount.destination(path, existing, disk)], mount.vpc)
        for (mount, path, existing), disk in zip((one, other), disks, strict=True)
    ]
    found = lead_together(*ways)
    assert found == lead_together(*reversed(ways))
    return found


names = some.lists(some.sampled_from(["a", "b"]), max_size=4).map(tuple)


@some.composite
def mounted(draw: some.DrawFn) -> tuple[Mount, Path, int]:
    """A destination through some mount; what of it exists is the server's to say, so at most two names."""
    path: Path = draw(names)
    exported = path[: draw(some.integers(0, min(len(path), 2)))]
    knows: dict[str, Any] = draw(some.sampled_from([{}, {"births": False}, {"names": False}]))
    mount = Mount(exported, draw(some.integers(50, 60)), draw(names.map(lambda one: ("mnt", *one))), **knows)
    return mount, path, min(len(path), 2)


@given(mounted(), mounted())
def test_two_machines_are_kept_apart_where_one_destination_is_the_other_or_lies_in_it(
    one: tuple[Mount, Path, int], other: tuple[Mount, Path, int]
) -> None:
    (first, path, _), (second, its, _) = one, other
    related = all(mine == theirs for mine, theirs in zip(path, its, strict=False))
    # A directory above what is mounted is seen by no machine that has only the inner one.
    common = max(len(first.exported), len(second.exported))
    comparable = (first.births and second.births) or (first.names and second.names)
    assert meet(one, other) == (related and comparable and min(len(path), len(its)) >= common)


@given(mounted(), mounted())
def test_directories_of_two_file_systems_never_meet(
    one: tuple[Mount, Path, int], other: tuple[Mount, Path, int]
) -> None:
    renamed = Mount(**{**vars(other[0]), "server": "fs-2.efs.us-west-2.amazonaws.com"})
    assert not meet(one, (renamed, *other[1:]), ("one", "two"))


@pytest.mark.parametrize("kind", ["ext4", "xfs", "overlay", "tmpfs"])
def test_a_disk_of_a_machines_own_is_nobody_elses(kind: str) -> None:
    assert shared_ways([Mount(kind=kind).destination(("a",), 1)], "vpc-1") == ()


@pytest.mark.parametrize("server", ["127.0.0.1", "localhost"])
def test_a_tunnel_of_a_machines_own_names_nothing_and_a_birth_does(server: str) -> None:
    assert shared_ways([Mount(server=server, births=False).destination(("a",), 1)], "vpc-1") == ()
    one, other = (Mount(server=server, device=device) for device in (52, 60))
    assert meet((one, ("a",), 1), (other, ("a",), 1))


@pytest.mark.parametrize(("server", "known"), [("10.0.0.5", False), ("storage", False), (EFS, True)])
def test_a_name_of_one_network_alone_means_nothing_in_another(server: str, known: bool) -> None:
    one, other = (Mount(server=server, births=False, vpc=vpc) for vpc in ("vpc-1", "vpc-2"))
    assert meet((one, ("a",), 1), (other, ("a",), 1)) == known
    assert meet((one, ("a",), 1), (one, ("a",), 1))


def test_a_destination_20_directories_deep_takes_less_than_a_kilobyte_of_the_lock() -> None:
    deep = tuple(f"directory-{at}" for at in range(20))
    ways = shared_ways([Mount().destination(deep, 20)], "vpc-1")
    assert len(ways) == 2
    assert 600 < sum(len(text) + 3 for way in ways for text in (*way.directories, *way.names)) < 1600


def hdfs(cluster: str, inodes: str, path: str, missing: str = "", vpc: str = "vpc-1") -> tuple[Way, ...]:
    told = survey().destination.model_copy(update={"ways": [way_in(cluster, inodes, path, missing=missing)]})
    return shared_ways([told], vpc)


@pytest.mark.parametrize(
    ("other", "is_met"),
    [
        (hdfs(NEAR, "16385 10", "/a"), True),
        (hdfs(NEAR, "16385 10", "/a", "b/c"), True),
        (hdfs(NEAR, "16385 10 11", "/a/b"), True),
        (hdfs(NEAR, "16385", "/"), True),
        (hdfs(NEAR, "16385 10", "/a", "c"), False),
        (hdfs(NEAR, "16385 12", "/x"), False),
        (hdfs(FAR, "16385 10", "/a"), False),
        (hdfs(NEAR, "16385 10", "/a", vpc="vpc-2"), False),
    ],
)
def test_a_directory_of_hdfs_is_known_whichever_worker_looks(other: tuple[Way, ...], is_met: bool) -> None:
    mine = hdfs(NEAR, "16385 10", "/a", "b")
    assert lead_together(mine, other) == lead_together(other, mine) == is_met
