"""The command that gives a cluster to suites of other languages."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from local.hadoop.runtime import Runtime
from tests.paths import ROOT


def close(command: "subprocess.Popen[str]") -> None:
    assert command.stdin is not None
    command.stdin.close()


@pytest.mark.parametrize("end", [close, lambda command: command.send_signal(signal.SIGTERM)], ids=["input", "signal"])
def test_it_says_where_the_cluster_is_and_takes_all_of_it_away(
    hadoop: Runtime, end: Callable[["subprocess.Popen[str]"], None]
) -> None:
    words = ["--data-nodes", "1", "--replication", "1", "--block-size", "8192"]
    command = subprocess.Popen(
        [sys.executable, "-m", "local.hadoop", *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    said = json.loads(command.stdout.readline())
    pids = [said["nameNodePid"], *said["dataNodePids"]]
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    asked = [said["hdfs"], "dfs", "-ls", f"hdfs://{said['nameNode']}/"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == ""
    assert "<value>8192</value>" in Path(said["conf"], "hdfs-site.xml").read_text()
    end(command)
    assert command.wait(60) == 0
    command.stdout.close()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert not Path(said["conf"]).exists()
