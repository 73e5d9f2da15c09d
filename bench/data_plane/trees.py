"""Trees as people have them; the same seed makes the same names and sizes, and the bytes are random."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

MIB = 1 << 20
SEED = 18
# Half of a kernel's or a large project's files are below 4 KiB, the mean is twice that.
SOURCE_MEDIAN_BYTES, SOURCE_SIGMA = 3_600, 1.25
FILES_PER_FOLDER = 25
LINKS_SHARE = 0.002
PHOTO_BYTES = (2 * MIB, 9 * MIB)
# Of an image of a machine's disk: pieces of data with holes between them.
PIECE_BYTES = (64 << 10, 4 * MIB)


def source_tree(folder: Path, count: int) -> None:
    """Files of a source tree's sizes, three folders deep, a few of them links."""
    draws = random.Random(SEED)
    for number in range(count):
        part = number // FILES_PER_FOLDER
        path = folder / f"module-{part // 400:02}" / f"package-{part // 20 % 20:02}" / f"part-{part % 20:02}"
        path.mkdir(parents=True, exist_ok=True)
        if draws.random() < LINKS_SHARE:
            (path / f"link-{number}").symlink_to(f"unit-{number - 1}.c")
            continue
        size = int(draws.lognormvariate(0, SOURCE_SIGMA) * SOURCE_MEDIAN_BYTES)
        (path / f"unit-{number}.c").write_bytes(os.urandom(size))


def photos(folder: Path, total: int) -> None:
    """Files of some megabytes each, by month, each with a small one beside it."""
    draws, written, number = random.Random(SEED), 0, 0
    while written < total:
        path = folder / f"2026-{number // 40 % 12 + 1:02}"
        path.mkdir(exist_ok=True)
        size = draws.randint(*PHOTO_BYTES)
        (path / f"photo-{number:05}.jpg").write_bytes(os.urandom(size))
        (path / f"photo-{number:05}.xmp").write_bytes(os.urandom(draws.randint(800, 4000)))
        written, number = written + size, number + 1


def sparse_image(folder: Path, size: int, data: int) -> None:
    """One file of `size` bytes of which so many are there."""
    with (folder / "image").open("wb") as file:
        file.truncate(size)
        for offset, length in _pieces(size, data):
            os.pwrite(file.fileno(), os.urandom(length), offset)


def _pieces(size: int, data: int) -> Iterator[tuple[int, int]]:
    """Pieces of data at places that keep the same distance on average, aligned as file systems do it."""
    draws, written, mean = random.Random(SEED), 0, sum(PIECE_BYTES) // 2
    distance = size * mean // data
    for start in range(0, size - PIECE_BYTES[1], distance):
        length = min(draws.randrange(*PIECE_BYTES, 4096), distance)
        yield start, length
        written += length


def blocks(folder: Path) -> int:
    """Bytes that the files use on their disk."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
