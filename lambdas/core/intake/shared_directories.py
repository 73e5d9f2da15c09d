"""Directories of a network file system, known by what does not depend on the machine that looks.

A machine numbers its mounts itself, and a path means something else on each. A directory's inode and the time at which
it was made are its own; where a client does not tell that time, the server's name for it stands for it. In HDFS a
directory has one number in all of its cluster.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import takewhile

from lambdas.core.intake.destination_lock import Way
from lambdas.core.intake.one_directory import has_own_server
from lambdas.core.intake.overlap import LOCAL_KINDS, is_world_wide
from lambdas.core.survey.survey import DestinationSurvey
from lambdas.core.survey.whereabouts import DirectoryWay, inode_of

# Of a hash, in bytes: the lock of all shared directories is one item of 400 KB at most. A destination that lies 20
# directories deep has 800 bytes of it.
_DIRECTORY, _NAME = 8, 4


def shared_ways(surveys: Iterable[DestinationSurvey], vpc_id: str) -> tuple[Way, ...]:
    """The ways to a destination, as its machines have told them, that other machines' ways can be compared with.

    `vpc_id`: of the machines; none of a disk of a machine's own, and of what nothing names.
    """
    found = (way for survey in surveys for told in survey.ways for way in _shared(told, vpc_id))
    return tuple(dict.fromkeys(found))


def _shared(way: DirectoryWay, vpc_id: str) -> Iterator[Way]:
    if way.file_system is None or way.file_system.kind in LOCAL_KINDS:
        return
    is_hdfs = way.cluster is not None
    found = [_in_hdfs(way, vpc_id)] if is_hdfs else [_by_birth(way), _by_name(way, way.file_system.location, vpc_id)]
    for deepest_first in found:
        if deepest_first:
            directories = tuple(_hash(one, _DIRECTORY) for one in reversed(deepest_first))
            names = way.names[len(way.directories) - len(directories) :]
            yield Way(directories, tuple(_hash(name, _NAME) for name in names))


def _inodes(way: DirectoryWay) -> list[str]:
    """Of the directories on the file system that the path ends on, the deepest first."""
    device, found = way.directories[-1].partition(":")[0], []
    for directory in reversed(way.directories):
        its_device, _, inode = directory.partition(":")
        if its_device != device:
            break
        found.append(inode)
    return found


def _in_hdfs(way: DirectoryWay, vpc_id: str) -> list[str]:
    """All of them: a cluster's workers are in one VPC, and names of clusters and of their name nodes are its own."""
    return [f"{inode_of(directory)} {vpc_id} {way.cluster}" for directory in reversed(way.directories)]


def _by_birth(way: DirectoryWay) -> list[str]:
    births = reversed(way.births or [])
    told = takewhile(lambda one: one[1] != 0, zip(_inodes(way), births, strict=False))
    return [f"{inode} {born}" for inode, born in told]


def _by_name(way: DirectoryWay, location: str | None, vpc_id: str) -> list[str]:
    """By the server's names for them, as far as these are the names in the path."""
    if location is None or has_own_server(location):
        return []
    where = "" if is_world_wide(location) else f"{vpc_id} "
    for name in reversed(way.missing):
        location = location.removesuffix(f"/{name}")
    found = []
    existing = way.names[: len(way.directories) - 1]
    for at, inode in enumerate(_inodes(way)):
        found.append(f"{inode} {where}{location}")
        if at == len(existing) or not location.endswith(f"/{existing[-1 - at]}"):
            break
        location = location.removesuffix(f"/{existing[-1 - at]}")
    return found


def _hash(text: str, size: int) -> str:
    return blake2b(text.encode(errors="surrogateescape"), digest_size=size).hexdigest()
