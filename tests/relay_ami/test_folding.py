"""A mirror on a file system that takes two spellings for one name removes nothing that the source has by the other."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.relay_ami.test_mirror import PROGRAM, ROOT, below

pytest.importorskip("fuse", reason="fusepy, of the group bench, serves the file system")
pytestmark = pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="this machine mounts nothing by FUSE")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """What is served, and where."""
    served, at = tmp_path / "served", tmp_path / "to"
    served.mkdir()
    at.mkdir()
    command = [sys.executable, "-m", "tests.relay_ami.folding_files", str(served), str(at)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "mounted\n"
        yield served, at
    finally:
        subprocess.run(["umount", at], check=False)
        process.wait(10)


def fill(folder: Path, names: list[str]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("content")
        os.utime(folder / name, (1_000_000_000, 1_000_000_000))


def test_what_is_there_by_another_spelling_stays_and_what_is_not_goes(
    tmp_path: Path, mounted: tuple[Path, Path]
) -> None:
    served, at = mounted
    source = tmp_path / "from"
    fill(source, ["фото/1", "caf\u00e9/x", "plain/readme", "same/a"])
    fill(served, ["Фото/1", "cafe\u0301/x", "plain/README", "same/a", "same/b", "same/old/c"])
    command = [str(PROGRAM), "mirror", "--control-dir", str(tmp_path / "control"), "--delete", f"{source}/", str(at)]
    told = subprocess.run(command, check=False, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    left = {os.fsdecode(path) for path in below(served)}
    assert left == {"Фото", "Фото/1", "cafe\u0301", "cafe\u0301/x", "plain", "plain/README", "same", "same/a"}
