"""The check whether source and destination are apart: two machines may see one directory, of a network file system."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import dirname, normpath

from lambdas.core.survey.survey import DestinationSurvey
from lambdas.core.survey.whereabouts import DirectoryWay, Whereabouts, inode_of

# Of these no two machines see the same one, unless one of them serves it to the other by another kind.
LOCAL_KINDS = frozenset(
    {
        "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs", "ntfs3",
        "overlay", "ramfs", "reiserfs", "rootfs", "squashfs", "tmpfs", "vfat", "xfs", "zfs",
    }
)  # fmt: skip
_WORDS = {"same": "is", "inside": "lies in", "holds": "holds"}


@dataclass(frozen=True)
class Meeting:
    """A path of the source that the destination seems to be (`same`), to lie in (`inside`) or to hold (`holds`).

    `certain`: no other directory looks so. `directory`: where the source's machine sees the deepest directory of the
    destination that exists, percent-encoded; None where it need not see it at all. `by_birth`: it is as old, too.
    """

    path: str
    relation: str
    certain: bool
    by_birth: bool
    directory: str | None

    @property
    def verb(self) -> str:
        """What the destination does with the path."""
        return _WORDS[self.relation]


def meetings(kernel: str | None, places: Iterable[Whereabouts], destination: DestinationSurvey) -> Iterator[Meeting]:
    """What of the source the destination meets, as far as both have told where they are."""
    one_kernel = kernel is not None and kernel == destination.kernel
    for place in places:
        for own in place.ways:
            for other in destination.ways:
                found = _by_directories(place.path, own, other, one_kernel) or _by_server(place.path, own, other)
                if found:
                    yield found


def _by_directories(path: str, own: DirectoryWay, other: DirectoryWay, one_kernel: bool) -> Meeting | None:
    in_hdfs = own.cluster is not None
    if in_hdfs is not (other.cluster is not None) or (not one_kernel and _is_local(own) and _is_local(other)):
        return None
    # Two clusters of one kernel have numbers of their own, and one cluster may have two names: a mark decides.
    one_kernel = one_kernel and not in_hdfs
    if not own.missing:
        for at in range(len(other.directories)):
            if _same(own, -1, other, at, one_kernel):
                below = other.names[at : len(other.directories) - 1]
                relation = "inside" if other.names[at:] else "same"
                directory = "/".join((path.rstrip("/"), *below))
                return Meeting(path, relation, one_kernel, _as_old(own, -1, other, at), directory or "/")
    if not other.missing:
        for at in range(len(own.directories)):
            if _same(own, at, other, -1, one_kernel):
                up = [".."] * (len(own.directories) - 1 - at)
                base = dirname(path.rstrip("/")) if own.missing else path.rstrip("/")
                above = "/".join((base, *up)) or "/"
                # HDFS takes no `..`, and has no link of which it would mean another directory than the name does.
                directory = normpath(above) if in_hdfs else above
                return Meeting(path, "holds", one_kernel, _as_old(own, at, other, -1), directory)
    return None


def _by_server(path: str, own: DirectoryWay, other: DirectoryWay) -> Meeting | None:
    """By the name that one server has for both, where neither machine need see the other's directory."""
    is_, was = (way.file_system.location if way.file_system else None for way in (own, other))
    if own.cluster is not None or other.cluster is not None:
        return None  # HDFS tells its directories apart by their inodes
    if is_ is None or was is None:
        return None
    certain = is_world_wide(is_)
    if is_ == was or (was.startswith(f"{is_}/") and not own.missing):
        # Names below it that do not exist yet are none in which the source's machine could look.
        below = was[len(is_) :].removesuffix("".join(f"/{name}" for name in other.missing))
        return Meeting(path, "same" if is_ == was else "inside", certain, False, path.rstrip("/") + below)
    if is_.startswith(f"{was}/") and certain:
        return Meeting(path, "holds", certain, by_birth=False, directory=None)
    return None


def is_world_wide(location: str) -> bool:
    """Return whether a server has this name wherever it is said: neither an address nor a name of one network alone."""
    host = location.removeprefix("//").split("%3A")[0].split("/")[0].rpartition("%40")[2]
    return "." in host and not host.replace(".", "").isdigit()


def _is_local(way: DirectoryWay) -> bool:
    return way.file_system is not None and way.file_system.kind in LOCAL_KINDS


def _same(one: DirectoryWay, at: int, other: DirectoryWay, there: int, one_kernel: bool) -> bool:
    """Return whether two directories may be one: to two machines its device has two numbers."""
    if one_kernel:
        return one.directories[at] == other.directories[there]
    inode, its = inode_of(one.directories[at]), inode_of(other.directories[there])
    born, its_birth = _birth(one, at), _birth(other, there)
    return inode == its and (born == its_birth or not (born and its_birth))


def _as_old(one: DirectoryWay, at: int, other: DirectoryWay, there: int) -> bool:
    return _birth(one, at) == _birth(other, there) != 0


def _birth(way: DirectoryWay, at: int) -> int:
    return way.births[at] if way.births else 0
