"""A file that changes while it is sent: it alone is missing, and is named."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.extent import cases
from tests.chaos.files import LARGE, LARGE_BYTES, make_source
from tests.chaos.transfer import under_way
from tests.e2e.files import tree

MOMENTS = 6
"""Parts of the large file that have arrived, of so many."""


def grow(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"more")


def shrink(file: Path) -> None:
    os.truncate(file, LARGE_BYTES // 2)


def vanish(file: Path) -> None:
    file.unlink()


def rewrite_at_the_same_time(file: Path) -> None:
    before = file.stat()
    with file.open("r+b") as stream:
        stream.write(bytes(LARGE_BYTES))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(file: Path) -> None:
    before, other = file.stat(), file.with_suffix(".new")
    other.write_bytes(bytes(LARGE_BYTES))
    other.chmod(before.st_mode)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(file)


def delivered(chunks: list[dict[str, Any]]) -> int:
    return sum(chunk["state"] == "DELIVERED" for chunk in chunks)


@pytest.mark.parametrize("moment", cases(range(1, 4), [1]))
@pytest.mark.parametrize(
    "change",
    cases([grow, shrink, vanish, rewrite_at_the_same_time, replace], [vanish, rewrite_at_the_same_time]),
    ids=lambda change: change.__name__,
)
def test_changed_under_way(tmp_path: Path, change: Callable[[Path], None], moment: int) -> None:
    source = make_source(tmp_path / "source")
    before = tree(source)
    with under_way(tmp_path, source, attempts=2) as transfer:
        parts = transfer.table.holders(LARGE.encode())
        some = len(parts) * moment // MOMENTS
        transfer.wait_until(f"{some} parts", lambda: delivered(transfer.table.holders(LARGE.encode())) >= some)
        change(source / LARGE)
        transfer.check_arrived_but(before, {LARGE.encode()}, {"source-changed", "source-unreadable"})
