"""What is moved: large files, small ones, and every odd entry, some 70 chunks of 1 MiB."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.files import make_files

LARGE = "large.bin"
LARGE_BYTES = 32 << 20
MIDDLE = 90
MIDDLE_BYTES = 300_000


def make_source(root: Path) -> Path:
    """32 MiB in one file, 27 MB in files of which three fit a chunk, and small ones."""
    make_files(root, small=100, large_bytes=LARGE_BYTES)
    randomness = random.Random(3)
    (root / "middle").mkdir()
    for number in range(MIDDLE):
        (root / "middle" / f"{number}.bin").write_bytes(randomness.randbytes(MIDDLE_BYTES))
    return root


def differences(arrived: Mapping[bytes, tuple[Any, ...]], wanted: Mapping[bytes, tuple[Any, ...]]) -> dict[bytes, Any]:
    """Entries of two trees that are not the same, with kind, mode and time of both; contents would fill the screen."""
    names = sorted(name for name in arrived.keys() | wanted.keys() if arrived.get(name) != wanted.get(name))
    return {name: (arrived.get(name, ())[:3], wanted.get(name, ())[:3]) for name in names}
