"""A machine whose kernel is too old is refused when it is looked at, with the kernel's version and what is needed."""

import json
import platform
import subprocess
from pathlib import Path

import pytest

from tests.chaos.test_disks import may_trace

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "relay-ami" / "dist" / "x86_64" / "cpt-relay"
COMMANDS = ROOT / "contracts" / "examples" / "good" / "relay-command"
# What kernels before 5.6 answer to openat2(2).
OLDER = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=openat2", "-e", "inject=openat2:error=ENOSYS"]


@pytest.mark.skipif(not may_trace(), reason="needs strace, and leave to use it")
@pytest.mark.parametrize("side", ["source", "destination"])
def test_survey_of_either_end_names_the_kernel_and_what_is_needed(side: str) -> None:
    scan = [str(PROGRAM), "scan", "--command", str(COMMANDS / f"scan-{side}.json")]
    said = subprocess.run([*OLDER, *scan], capture_output=True, text=True, check=True)
    (problem,) = json.loads(said.stdout)["problems"]
    assert f"the kernel is {platform.release()}" in problem["reason"]
    assert "Linux 5.6 or later is needed" in problem["reason"]
