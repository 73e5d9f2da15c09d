"""Test data as GREEN's generator makes it: files named 1, 2, 3, … whose sizes are normal, until a folder is full.

Unlike the thesis', the sizes come from a seed, and so does what is in the files unless a sample is named: bytes that
cannot be compressed.
"""

import argparse
import random
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.options import count

KIB = 1024
BLOCK = 1 << 20


@dataclass(frozen=True)
class Wanted:
    """KiB, as the thesis' options."""

    directory: Path
    directory_kib: int = 1024
    file_kib: int = 102
    dispersion_kib: int = 10
    block: int = KIB
    """Bytes: no file is smaller but the last."""
    seed: int = 1
    sample: Path | None = None


class NoRoomError(Exception):
    """The file system has less free space than is asked for; nothing was written."""


def sizes(wanted: Wanted) -> Iterator[int]:
    """Bytes of each file; the last one takes what is left."""
    draws, left = random.Random(wanted.seed), wanted.directory_kib * KIB
    while left > 0:
        size = int(draws.gauss(wanted.file_kib, wanted.dispersion_kib) * KIB)
        yield (size := min(max(size, wanted.block), left))
        left -= size


def write(wanted: Wanted) -> list[int]:
    """Write them into an empty folder; their sizes. Raises NoRoomError or FileExistsError before it writes."""
    existing = next(place for place in (wanted.directory, *wanted.directory.resolve().parents) if place.exists())
    free, needed = shutil.disk_usage(existing).free, wanted.directory_kib * KIB
    if free < needed:
        raise NoRoomError(f"--dirsize is {wanted.directory_kib} KiB; {existing} has {free // KIB} KiB free")
    if wanted.directory.exists() and any(wanted.directory.iterdir()):
        raise FileExistsError(f"--dir is {wanted.directory}, which is not empty; name a folder that is")
    wanted.directory.mkdir(parents=True, exist_ok=True)
    draws, written = random.Random(wanted.seed + 1), []
    for number, size in enumerate(sizes(wanted), 1):
        with (wanted.directory / str(number)).open("wb") as file:
            for data in _content(wanted.sample, draws, size):
                file.write(data)
        written.append(size)
    return written


def _content(sample: Path | None, draws: random.Random, size: int) -> Iterator[bytes]:
    if sample is None:
        for start in range(0, size, BLOCK):
            yield draws.randbytes(min(BLOCK, size - start))
        return
    with sample.open("rb") as source:
        while size:
            data = source.read(min(BLOCK, size))
            if not data:
                if source.tell() == 0:
                    raise ValueError(f"--sample is {sample}, which is empty; name a file with bytes")
                source.seek(0)
            size -= len(data)
            yield data


def main() -> int:
    """Make them, and say how many."""
    parser = argparse.ArgumentParser(prog="python -m bench.lab.sweep.testdata", description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path("./test_directory"))
    parser.add_argument("--dirsize", type=count, default=1024, help="KiB in all (1024)")
    parser.add_argument("--filesize", type=count, default=102, help="KiB of a file, the mean (102)")
    parser.add_argument("--dispersion", type=int, default=10, help="KiB, the standard deviation (10)")
    parser.add_argument("--sample", type=Path, help="where bytes come from; by default from --seed")
    parser.add_argument("--block-size", type=count, default=KIB, help="bytes that a file has at least (1024)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logfile", type=Path)
    parser.add_argument("--quiet", action="store_true")
    asked = parser.parse_args()
    wanted = Wanted(
        asked.dir, asked.dirsize, asked.filesize, asked.dispersion, asked.block_size, asked.seed, asked.sample
    )
    try:
        written = write(wanted)
    except (NoRoomError, OSError, ValueError) as error:
        raise SystemExit(f"testdata: {error}") from error
    text = f"{len(written)} files, {sum(written)} bytes in {asked.dir}, seed {asked.seed}"
    if asked.logfile:
        asked.logfile.write_text(text + "\n")
    if not asked.quiet:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
