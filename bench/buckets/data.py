"""What is moved: trees whose bytes follow from the names.

So a server that keeps nothing can tell whether they are right.
"""

import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.data_plane import trees

PREFIX = "tree/"
# A prime: no two parts of an object begin at the same place of the block.
BLOCK_BYTES = 1_048_573
SEED = 41
SMALL_BYTES = 10 << 10
FOLDER_FILES = 100
MIB = 1 << 20


def block() -> bytes:
    """The bytes of all files, over and over."""
    return random.Random(SEED).randbytes(BLOCK_BYTES)


def write(folder: Path, sizes: Mapping[str, int]) -> None:
    """Make the files, each with the bytes that its key has."""
    doubled = block() * 2
    made = set()
    for name, size in sizes.items():
        path = folder / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        at = zlib.crc32(f"{PREFIX}{name}".encode()) % BLOCK_BYTES
        once = doubled[at : at + BLOCK_BYTES]
        with path.open("wb") as file:
            for start in range(0, size, BLOCK_BYTES):
                file.write(once[: size - start])


@dataclass(frozen=True)
class Dataset:
    """Sizes by path; `full` or, to try the harness, few."""

    sizes: Callable[[bool], Mapping[str, int]]
    is_small: bool
    """Requests are what takes time, not bytes."""


def _large(quick: bool) -> Mapping[str, int]:
    return {"large": (64 if quick else 4096) * MIB}


def _small(quick: bool) -> Mapping[str, int]:
    count = 500 if quick else 10_000
    return {
        f"folder-{number // FOLDER_FILES:04}/file-{number % FOLDER_FILES:02}": SMALL_BYTES for number in range(count)
    }


def _tree(quick: bool) -> Mapping[str, int]:
    draws, sizes = random.Random(SEED), {}
    for number in range(1_000 if quick else 100_000):
        part = number // trees.FILES_PER_FOLDER
        folder = f"module-{part // 400:02}/package-{part // 20 % 20:02}/part-{part % 20:02}"
        size = int(draws.lognormvariate(0, trees.SOURCE_SIGMA) * trees.SOURCE_MEDIAN_BYTES)
        sizes[f"{folder}/unit-{number}.c"] = size
    return sizes


DATASETS = {
    "large": Dataset(_large, is_small=False),
    "10k-small": Dataset(_small, is_small=True),
    "source-tree": Dataset(_tree, is_small=True),
}
