"""The judgement whether several machines of one end see one and the same directory under one path."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple
from urllib.parse import unquote

from lambdas.core.intake.overlap import LOCAL_KINDS
from lambdas.core.survey.whereabouts import DirectoryWay, Whereabouts, inode_of

# A scan that lists nothing is asked for what is not there below each path: it tells the directories that lead to it.
NOT_THERE = ".cpt-partial-beside"
# Each machine has such an address of its own: two that mount from it need not mount one thing.
_OWN_SERVERS = ("127.", "localhost", "%5B%3A%3A1%5D", "%3A%3A1")


class Verdict(Enum):
    """How far it is known."""

    SAME = "one directory"
    OTHER = "another directory"
    UNKNOWN = "not known"


class Doubt(NamedTuple):
    """A path, percent-encoded, of which a machine sees another directory than the first one does, or may do so.

    `missing`: so many names at its end are of no directory.
    """

    path: str
    missing: int
    verdict: Verdict
    first: str
    here: str


def doubts(
    first_kernel: str | None, first: Iterable[Whereabouts], kernel: str | None, places: Iterable[Whereabouts]
) -> list[Doubt]:
    """What is not proven; `places`: of what is not there below each path of `first`, as another machine sees it."""
    is_one_kernel = kernel is not None and kernel == first_kernel
    there = {place.path.removesuffix(f"/{NOT_THERE}"): place.ways[0] for place in places}
    found = []
    for place in first:
        own, other = place.ways[0], there.get(place.path.rstrip("/"))
        if other is None:
            found.append(Doubt(place.path, len(own.missing), Verdict.UNKNOWN, _words(own), "nothing was told"))
            continue
        below = other.missing[:-1]
        verdict = _judged(own, other, below, is_one_kernel=is_one_kernel)
        if verdict is not Verdict.SAME:
            what = "it is not there" if len(below) > len(own.missing) else _words(other)
            found.append(Doubt(place.path, len(own.missing), verdict, _words(own), what))
    return found


def _judged(own: DirectoryWay, other: DirectoryWay, below: list[str], *, is_one_kernel: bool) -> Verdict:
    # A file is the last name of its own way, and to whoever looks below it the last of what exists.
    at = -2 if len(own.missing) == 1 and not below and len(other.directories) > 1 else -1
    if own.missing != below and at == -1:
        return Verdict.OTHER
    mine, its = own.directories[-1], other.directories[at]
    if own.cluster is not None or other.cluster is not None:
        return _judged_in_hdfs(own.cluster, other.cluster) if mine == its else Verdict.OTHER
    if is_one_kernel:
        return Verdict.SAME if mine == its else Verdict.OTHER
    if any(way.file_system is not None and way.file_system.kind in LOCAL_KINDS for way in (own, other)):
        return Verdict.OTHER
    births = [own.births[-1] if own.births else 0, other.births[at] if other.births else 0]
    if inode_of(mine) != inode_of(its) or (all(births) and births[0] != births[1]):
        return Verdict.OTHER
    if all(births):
        return Verdict.SAME
    locations = {way.file_system.location if way.file_system else None for way in (own, other)}
    location = locations.pop() if len(locations) == 1 else None
    is_named = location is not None and not has_own_server(location)
    return Verdict.SAME if is_named else Verdict.UNKNOWN


def _judged_in_hdfs(own: str | None, other: str | None) -> Verdict:
    """Of two directories of one inode; None is no HDFS. One cluster may have two names, of its name nodes or itself."""
    if own is None or other is None:
        return Verdict.OTHER
    return Verdict.SAME if own and own == other else Verdict.UNKNOWN


def has_own_server(location: str) -> bool:
    """Return whether the server is the machine itself, or a tunnel of its own to whatever there is."""
    return location.removeprefix("//").startswith(_OWN_SERVERS)


def _words(way: DirectoryWay) -> str:
    where = f"directory {way.directories[-1]}"
    if way.file_system is None:
        return where
    return f"{unquote(way.file_system.words(), errors='backslashreplace')}, {where}"
