"""Archives that depend on names, contents and modes of files alone."""

import gzip
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

EXECUTABLE, PLAIN = 0o755, 0o644


def write(archive: Path, top: str, files: Mapping[str, Path | bytes], epoch: int) -> None:
    """Write a .tar.gz with `files` by their names below `top`, each changed at `epoch`, and of no user."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=epoch, compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.mtime = epoch
            # Of the modes only this bit: the rest is the umask of whoever checked the files out.
            runs = isinstance(content, Path) and bool(content.stat().st_mode & 0o100)
            entry.mode = EXECUTABLE if runs else PLAIN
            body = content if isinstance(content, bytes) else content.read_bytes()
            entry.size = len(body)
            tar.addfile(entry, BytesIO(body))


def below(folder: Path) -> dict[str, Path]:
    """All files below a folder, by their names relative to it; compiled Python is of one machine."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
