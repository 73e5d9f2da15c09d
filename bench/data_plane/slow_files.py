"""A directory behind a network: a user-space file system of which every read, and every look at a name, takes its time.

    python -m bench.data_plane.slow_files DIRECTORY MOUNTPOINT READ_MILLISECONDS LOOK_MILLISECONDS

They wait side by side. The kernel keeps no page of an earlier mount, so each mount is cold.
"""

import os
import sys
import time
from pathlib import Path

from fuse import FUSE, FuseOSError, Operations

# What the kernel reads ahead of EBS, too.
READ_AHEAD_BYTES = 128 << 10
ATTRIBUTES = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid", "st_ino")


class SlowFiles(Operations):  # type: ignore[misc]
    """Files of a directory, to be read."""

    def __init__(self, directory: str, read_seconds: float, look_seconds: float) -> None:
        self._directory, self._read_seconds, self._look_seconds = directory, read_seconds, look_seconds

    def getattr(self, path: str, fh: int | None = None) -> dict[str, float]:
        """What is known of an entry, late."""
        time.sleep(self._look_seconds)
        try:
            found = os.lstat(self._directory + path)
        except OSError as error:
            raise FuseOSError(error.errno) from error
        return {name: getattr(found, name) for name in ATTRIBUTES}

    def readdir(self, path: str, fh: int) -> list[str]:
        """Names of a directory."""
        return [".", "..", *(entry.name for entry in Path(self._directory + path).iterdir())]

    def open(self, path: str, flags: int) -> int:
        """Open a file."""
        return os.open(self._directory + path, os.O_RDONLY)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        """Read, late."""
        time.sleep(self._read_seconds)
        return os.pread(fh, size, offset)

    def release(self, path: str, fh: int) -> int:
        """Close a file."""
        os.close(fh)
        return 0


if __name__ == "__main__":
    directory, mountpoint, read_milliseconds, look_milliseconds = sys.argv[1:]
    FUSE(
        SlowFiles(directory, float(read_milliseconds) / 1000, float(look_milliseconds) / 1000),
        mountpoint,
        foreground=True,
        ro=True,
        use_ino=True,
        kernel_cache=True,  # as a disk's pages stay in memory when a file is opened again
        max_readahead=READ_AHEAD_BYTES,
    )
