"""The command that gives a cluster to suites of other languages."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.hadoop.runtime import Runtime
from local.waiting import wait_for
from tests.chaos.extent import only_full
from tests.paths import ROOT

Command = subprocess.Popen[str]
WORDS = ["--data-nodes", "1", "--replication", "1", "--block-size", "8192"]
ENDS: dict[str, Callable[[Command], None]] = {
    "input": lambda command: command.stdin.close() if command.stdin else None,
    "SIGTERM": lambda command: command.send_signal(signal.SIGTERM),
    "SIGKILL": lambda command: command.send_signal(signal.SIGKILL),
}


def answer(command: Command, line: str = "") -> dict[str, Any]:
    assert command.stdin is not None
    assert command.stdout is not None
    command.stdin.write(line)
    command.stdin.flush()
    said: dict[str, Any] = json.loads(command.stdout.readline())
    return said


@only_full
@pytest.mark.parametrize("end", ENDS)
def test_it_gives_a_cluster_and_takes_all_of_it_away(hadoop: Runtime, tmp_path: Path, end: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "local.hadoop", *WORDS],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
    ) as command:
        said = answer(command)
        asked = [said["hdfs"], "dfs", "-ls", f"hdfs://{said['nameNode']}/"]
        assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == ""
        assert "<value>8192</value>" in Path(said["conf"], "hdfs-site.xml").read_text()
        pids = said["pids"]
        assert pids.keys() == {"name", "data-0"}
        assert answer(command, "kill data-0\n") == {"pids": {"name": pids["name"]}}
        assert not Path(f"/proc/{pids['data-0']}").exists()
        again = answer(command, "start data-0\n")["pids"]
        assert answer(command, "live 1\n") == {"pids": again}
        assert "no data-7" in answer(command, "stop data-7\n")["error"]
        ENDS[end](command)
        assert command.wait(60) == (0 if end != "SIGKILL" else -signal.SIGKILL)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in again.values()), 5)
    assert end == "SIGKILL" or list(tmp_path.iterdir()) == []
