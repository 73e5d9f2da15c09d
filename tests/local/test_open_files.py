"""The limit of open files, in processes of their own: what is lowered stays lowered."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.cloud import LocalCloud, LocalCloudError
from local.config import LocalConfig

RAISE = "from local.open_files import raise_limit; print(raise_limit(256, 'this test'))"


def limited(soft: int, hard: int, program: str) -> subprocess.CompletedProcess[str]:
    script = f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$0" -c "$1"'
    return subprocess.run(["bash", "-c", script, sys.executable, program], text=True, capture_output=True, check=False)


def test_soft_limit_is_raised_to_the_hard_one() -> None:
    program = f"{RAISE}; import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    assert limited(128, 512, program).stdout.split() == ["512", "512", "512"]


def test_hard_limit_that_is_too_low_is_named_with_both_numbers() -> None:
    ended = limited(64, 128, RAISE)
    assert ended.returncode == 1
    assert "this test needs 256 open files, and the hard limit is 128" in ended.stderr


def test_local_cloud_says_that_it_may_not_open_enough_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/bash\nulimit -n 512\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    cloud = LocalCloud(LocalConfig(), tmp_path / "state", assembly=None)
    with pytest.raises(LocalCloudError, match="needs 2048 open files, and the hard limit is 512"):
        cloud.start()


def test_process_of_a_function_is_followed_however_many_files_are_open() -> None:
    """A cloud with six transfers has more than 1023, beyond which `select` takes none."""
    program = """
import io, os, subprocess
from local.open_files import raise_limit
from local.patches.functions.fork import ForkedProcess
raise_limit(2048, "this test")
child = subprocess.Popen(["sleep", "1000"])
many = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
process = ForkedProcess(child.pid, os.pidfd_open(child.pid), io.StringIO(), io.StringIO(), io.StringIO())
try:
    before = process.poll()
finally:
    child.kill()
print(before, process.wait(30), process.poll())
"""
    done = limited(1024, 2048, program)
    assert (done.stdout, done.stderr) == ("None 0 0\n", "")
