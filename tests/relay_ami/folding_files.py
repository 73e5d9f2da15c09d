"""A directory in which upper and lower case, and the two forms of an accent, are one name, as on many shares.

python -m tests.relay_ami.folding_files DIRECTORY MOUNTPOINT says `mounted` once it is.
"""

import os
import sys
import unicodedata
from pathlib import Path

from fuse import FUSE, FuseOSError, Operations

ATTRIBUTES = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid", "st_ino")


class FoldingFiles(Operations):  # type: ignore[misc]
    """Files of a directory, to be looked at and removed by any spelling."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def init(self, path: str) -> None:
        """The kernel has mounted it."""
        sys.stdout.write("mounted\n")
        sys.stdout.flush()

    def _at(self, path: str) -> Path:
        found = self._directory
        for name in Path(path).parts[1:]:
            alike = [entry for entry in found.iterdir() if _folded(entry.name) == _folded(name)]
            found = alike[0] if alike else found / name
        return found

    def getattr(self, path: str, fh: int | None = None) -> dict[str, float]:
        """What is known of an entry."""
        try:
            found = os.lstat(self._at(path))
        except OSError as error:
            raise FuseOSError(error.errno) from error
        return {name: getattr(found, name) for name in ATTRIBUTES}

    def readdir(self, path: str, fh: int) -> list[str]:
        """Names of a directory, each in the spelling that it was made with."""
        return [".", "..", *(entry.name for entry in self._at(path).iterdir())]

    def unlink(self, path: str) -> None:
        """Remove a file."""
        self._at(path).unlink()

    def rmdir(self, path: str) -> None:
        """Remove a directory."""
        self._at(path).rmdir()

    def utimens(self, path: str, times: tuple[float, float] | None = None) -> None:
        """Set times."""
        os.utime(self._at(path), times)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


if __name__ == "__main__":
    directory, mountpoint = sys.argv[1:]
    FUSE(FoldingFiles(directory), mountpoint, foreground=True, use_ino=False)
