"""Archives of a release: what they hold counts, and nothing of the machine that wrote them."""

import os
import tarfile
from pathlib import Path

import pytest

from tools.release.archive import below, write

EPOCH = 1_700_000_000


def lay(folder: Path, umask: int) -> Path:
    before = os.umask(umask)
    try:
        (folder / "inside").mkdir(parents=True)
        (folder / "inside" / "plain").write_text("text")
        (folder / "program").write_text("#!/bin/sh\n")
        (folder / "program").chmod(0o777 & ~umask)
        (folder / "inside" / "__pycache__").mkdir()
        (folder / "inside" / "__pycache__" / "plain.pyc").write_text(str(folder))
    finally:
        os.umask(before)
    return folder


def test_the_same_files_make_the_same_bytes_wherever_and_whenever_they_lie(tmp_path: Path) -> None:
    archives = []
    for number, umask in enumerate((0o022, 0o077)):
        folder = lay(tmp_path / f"{number}", umask)
        os.utime(folder / "program", (number, number))
        archives.append(tmp_path / f"{number}.tar.gz")
        write(archives[-1], "top", {**below(folder), "made": b"here"}, EPOCH)
    first, second = (archive.read_bytes() for archive in archives)
    assert first == second


def test_files_have_one_time_no_user_and_only_the_bit_that_lets_them_run(tmp_path: Path) -> None:
    write(tmp_path / "a.tar.gz", "top", {**below(lay(tmp_path / "set", 0o077)), "made": b"here"}, EPOCH)
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        found = {entry.name: (entry.mode, entry.mtime, entry.uid, entry.uname) for entry in tar}
    assert found == {
        "top/inside/plain": (0o644, EPOCH, 0, ""),
        "top/made": (0o644, EPOCH, 0, ""),
        "top/program": (0o755, EPOCH, 0, ""),
    }


@pytest.mark.parametrize("bit", [b"x", b"y"])
def test_another_content_is_another_archive(tmp_path: Path, bit: bytes) -> None:
    write(tmp_path / "a.tar.gz", "top", {"a": b"x"}, EPOCH)
    write(tmp_path / "b.tar.gz", "top", {"a": bit}, EPOCH)
    same = (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    assert same == (bit == b"x")
