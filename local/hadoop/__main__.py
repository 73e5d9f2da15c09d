"""A Hadoop on 127.0.0.1 for tests of other languages and for a person: `python -m local.hadoop`.

It prints one line of JSON when it is ready, and ends with its standard input or by SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from local.hadoop.cluster import HadoopCluster
from local.hadoop.errors import HadoopError, HadoopMissingError
from local.hadoop.jars import DigestError
from local.hadoop.loopback import on_loopback
from local.hadoop.settings import Options
from local.hadoop.shared_classes import prepare

MISSING = 3
"""Exit code where Hadoop cannot be had on this machine."""


def main(words: list[str]) -> int:
    """Run a cluster; returns the exit code."""
    options = Options()
    parser = argparse.ArgumentParser(prog="python -m local.hadoop", description=__doc__)
    parser.add_argument("--data-nodes", type=int, default=2)
    parser.add_argument("--replication", type=int, default=options.replication)
    parser.add_argument("--block-size", type=int, default=options.block_bytes, help="bytes, a multiple of 512")
    parser.add_argument("--folder", type=Path, help="where all files lie; absent: a folder that goes with the cluster")
    asked = parser.parse_args(words)
    options = Options(replication=asked.replication, block_bytes=asked.block_size)
    signal.signal(signal.SIGTERM, _end)
    try:
        with tempfile.TemporaryDirectory(prefix="hadoop-") as own:
            folder = (asked.folder or Path(own)).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            with on_loopback(prepare(), folder, asked.data_nodes, options) as cluster:
                cluster.write_script(folder / "hdfs")
                sys.stdout.write(json.dumps({**described(cluster), "hdfs": str(folder / "hdfs")}) + "\n")
                sys.stdout.flush()
                while os.read(sys.stdin.fileno(), 4096):
                    pass
    except HadoopMissingError as missing:
        sys.stderr.write(f"{missing}\n")
        return MISSING
    except (HadoopError, DigestError, TimeoutError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def described(cluster: HadoopCluster) -> dict[str, Any]:
    """What a client needs: directory of the configuration, addresses and process ids."""
    return {
        "conf": str(cluster.conf),
        "nameNode": cluster.address,
        "webHdfs": cluster.web_address,
        "nameNodePid": cluster.name_node.pid,
        "dataNodePids": [daemon.pid for daemon in cluster.data_nodes],
    }


def _end(number: int, frame: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
