"""Trees to move, and whether they arrived."""

import os
from pathlib import Path

import blake3

from bench.data_plane.bench import Bench

BLOCK = 4 << 20
FOLDER_FILES = 100


def large(folder: Path, size: int) -> None:
    """One file of random bytes."""
    with (folder / "large").open("wb") as file:
        for start in range(0, size, BLOCK):
            file.write(os.urandom(min(BLOCK, size - start)))


def log(folder: Path, size: int) -> None:
    """One file of lines as a web server writes them, no two alike; zstd's level 1 leaves about a fifth of it."""
    line = "2026-11-25T07:{:02}:{:02} GET /items/{:09}/{:09} 200\n"
    with (folder / "log").open("w") as file:
        for number in range(size // len(line.format(0, 0, 0, 0))):
            file.write(line.format(number // 60 % 60, number % 60, number * 7919 % 10**9, number))


def large_source(bench: Bench) -> tuple[Path, int]:
    """A folder with one large file, and the file's bytes."""
    source, size = bench.folder("source"), bench.size(2 << 30, 64 << 20)
    large(source, size)
    return source, size


def small(folder: Path, count: int, size: int) -> None:
    """Files of random bytes, a hundred to a folder."""
    for number in range(count):
        path = folder / f"folder-{number // FOLDER_FILES:04}" / f"file-{number % FOLDER_FILES:02}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(size))


def digests(folder: Path) -> dict[str, str]:
    """BLAKE3 of every file by its path; hidden ones too, so that a forgotten partial file shows.

    Not by a mapping: in memory-backed files that would fill the holes.
    """
    return {str(path.relative_to(folder)): _digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def _digest(path: Path) -> str:
    hasher = blake3.blake3(max_threads=2)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            hasher.update(block)
    return hasher.hexdigest()
