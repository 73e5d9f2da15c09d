"""The directory that a path leads to, and the file system that it is on."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from lambdas.core.documents import Document

HDFS = "hdfs"
"""The kind of file system of which directories have numbers that are the same wherever somebody looks."""
Kernel = Annotated[str, Field(pattern=r"^[0-9a-fA-F-]{36}$")]


class FileSystem(Document):
    """What a path is on; names are percent-encoded.

    `id`: UUID of the disk, or the server's or pool's name for what is mounted. `location`: the path as its server
    names it.
    """

    kind: str
    mount_point: str
    id: str | None = None
    location: str | None = None

    def is_same(self, other: "FileSystem") -> bool:
        """Return whether both are one, as far as can be told: a disk that has a name may be mounted anywhere."""
        if self.id and other.id:
            return self.id == other.id
        return (self.kind, self.mount_point) == (other.kind, other.mount_point)

    def words(self) -> str:
        """For people, e.g. `ext4 at /srv/media (0b1c…)`."""
        return f"{self.kind} at {self.mount_point}" + (f" ({self.id})" if self.id else "")


def inode_of(directory: str) -> str:
    """The number of a directory of a way on its file system, without that of a device; HDFS has none."""
    return directory.rpartition(":")[2]


class DirectoryWay(Document):
    """One way from the root to a path: directories that exist, names that lead on from the first.

    A directory is its device and inode, `2049:131`; of HDFS the inode alone.
    `births`: when each directory was made, nanoseconds since 1970; 0 where that is not known.
    """

    directories: Annotated[list[str], Field(min_length=1)]
    names: list[str]
    births: list[int] | None = None
    file_system: FileSystem | None = None

    @property
    def missing(self) -> list[str]:
        """Names below the last directory: of what does not exist yet, or is no directory."""
        return self.names[len(self.directories) - 1 :]

    @property
    def cluster(self) -> str | None:
        """The HDFS that it is in, by the name in its cluster's configuration; None of any other file system."""
        if self.file_system is None or self.file_system.kind != HDFS:
            return None
        return self.file_system.id or ""

    @model_validator(mode="after")
    def _names_lead_to_directories(self) -> Self:
        if len(self.names) < len(self.directories) - 1:
            raise ValueError(
                f"names has {len(self.names)} entries; {len(self.directories)} directories need at least one fewer"
            )
        return self


class Whereabouts(Document):
    """Where a path of the source is, as in the request, percent-encoded."""

    path: str
    ways: Annotated[list[DirectoryWay], Field(min_length=1)]

    @property
    def file_system(self) -> FileSystem | None:
        """What it is on."""
        return self.ways[0].file_system


class SourcePath(Document):
    """What a path of the source, percent-encoded, is on: noted by the first run, for later ones."""

    path: str
    file_system: FileSystem
