"""What a staged copy between two HDFS is asked to do, and what is judged of it before anything is copied. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from statistics import median
from typing import Literal, get_args

Bundle = Literal["auto", "tar", "never"]
Step = Literal["export", "bundle", "transfer", "unbundle", "import", "verify"]
STEPS: tuple[Step, ...] = get_args(Step)
CHUNK_BYTES = 64 << 20
"""Files of which half are smaller are bundled where that is left to the driver (Figure 5.2, step 2)."""
WORKERS = 2
"""Data nodes of each cluster, which are lent as relays."""
_LISTED_FIELDS = 8


class StagingError(Exception):
    """The copy cannot be made as it is asked for, or a step failed; the message says which, and what would be right."""


@dataclass(frozen=True)
class Rates:
    """What machines of the laboratory move between the regions and inside one, MB/s, and how long one boots, s."""

    inter_mb_s: float
    intra_mb_s: float
    boot_seconds: float


@dataclass(frozen=True)
class StagedJob:
    """`paths` of the source's HDFS, each with what is below it, into the directory `into` of the destination's.

    `replication`: copies of each block there. `bundle`: one tar file for the transfer, or none. Raises ValueError with
    field, value and what would be right.
    """

    paths: tuple[str, ...]
    into: str
    replication: int = 2
    bundle: Bundle = "never"

    def __post_init__(self) -> None:
        if not self.paths:
            raise ValueError("paths: (); name one path of HDFS at least")
        for path in (*self.paths, self.into):
            if not path.startswith("/"):
                field = "into" if path == self.into else "paths"
                raise ValueError(f"{field}: {path!r}; must be an absolute path of HDFS, such as /data")
        names = [PurePosixPath(path).name for path in self.paths]
        if twice := next((name for name in names if name and names.count(name) > 1), None):
            raise ValueError(f"paths: {twice!r} is the last name of two; each needs one of its own below the staging")
        if "" in names:
            raise ValueError("paths: '/'; name what is below the root")
        if self.replication < 1:
            raise ValueError(f"replication: {self.replication}; must be a whole number, 1 or more")
        if self.bundle not in get_args(Bundle):
            raise ValueError(f"bundle: {self.bundle!r}; must be one of {', '.join(get_args(Bundle))}")

    def is_bundled(self, sizes: Sequence[int]) -> bool:
        """Whether files of these sizes, bytes, go as one tar file."""
        return self.bundle == "tar" or (self.bundle == "auto" and bool(sizes) and median(sizes) < CHUNK_BYTES)


def sizes_of(listing: str) -> list[int]:
    """Bytes of each file in what `hdfs dfs -ls -R` prints. Raises StagingError for a line that is none of its."""
    sizes = []
    for line in listing.splitlines():
        fields = line.split(maxsplit=_LISTED_FIELDS - 1)
        if fields[:1] == ["Found"] or not fields:
            continue
        if len(fields) < _LISTED_FIELDS or not fields[4].isdecimal():
            raise StagingError(
                f"hdfs dfs -ls -R printed {line!r}; must be mode, replicas, owner, group, bytes, time and path"
            )
        if fields[0].startswith("-"):
            sizes.append(int(fields[4]))
    return sizes


def refuse_without_room(side: str, folder: Path, free_bytes: int, data_bytes: int, *, is_bundled: bool) -> None:
    """A staging folder takes all of the data, and twice with its tar file. Raises StagingError where it is larger."""
    needed = data_bytes * (2 if is_bundled else 1)
    if free_bytes < needed:
        why = f"2 × {data_bytes:,} B, the files and their tar file" if is_bundled else "all files"
        raise StagingError(
            f"{side}: {folder} has {free_bytes:,} B free; {needed:,} B are needed ({why}): free some, or name a folder "
            "of a larger disk"
        )
