"""AWS's Common Runtime, at whichever of its settings is fastest here.

It sends a CRC-64 with each object, and compares one that it is told. It lists nothing: it is given the keys.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.buckets.data import PREFIX
from bench.buckets.servers import BUCKET, REGION, Server
from bench.buckets.used import Used
from bench.data_plane.bench import Bench
from bench.data_plane.process import running

TIMEOUT = 900.0
CLIENT = Path(__file__).with_name("crt_client.py")
# Part size in MiB, the target by which it chooses its connections, and objects that are asked for at once.
LARGE = tuple(
    ("--part-mib", part, "--gbps", gbps, "--at-once", "1")
    for part, gbps in (("8", "10"), ("16", "10"), ("16", "25"), ("64", "10"))
)
SMALL = tuple(
    ("--part-mib", "8", "--gbps", gbps, "--at-once", count)
    for gbps, count in (("10", "64"), ("25", "128"), ("50", "256"))
)
SETTINGS = {False: LARGE, True: SMALL}


@dataclass(frozen=True)
class Crt:
    """One setting of it."""

    bench: Bench
    server: Server
    sizes: Mapping[str, int]
    setting: tuple[str, ...]

    def up(self, source: Path) -> Used:
        """Into the bucket."""
        return self._copy("up", source)

    def down(self, target: Path) -> Used:
        """Out of the bucket."""
        return self._copy("down", target)

    def _copy(self, way: str, folder: Path) -> Used:
        names = self.bench.work / "names.json"
        names.write_text(json.dumps(list(self.sizes)))
        place = ["--endpoint", self.server.endpoint, "--region", REGION, "--bucket", BUCKET, "--prefix", PREFIX]
        argv = [sys.executable, str(CLIENT), way, str(folder), str(names), *place, "--ca", str(self.server.ca)]
        log = self.bench.work / "crt.log"
        with running([*argv, *self.setting], log, env=self.server.environment) as program:
            ended = program.wait(TIMEOUT)
        return Used(ended.seconds, ended.cpu_seconds)
