"""Our pair of daemons on one machine, as a bucket's seat works: the survey and plan, then both ends at once."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.buckets.data import MIB, PREFIX
from bench.buckets.servers import ADDRESS, BUCKET, Server
from bench.buckets.used import Used
from bench.data_plane.bench import Bench
from bench.data_plane.process import Program, running
from lambdas.core.chunks.object_parts import AT_ONCE, USUAL_BYTES, part_bytes
from lambdas.core.chunks.plan import chunk_size, lanes_per_path

TIMEOUT = 900.0
PLACE = f"s3://{BUCKET}/{PREFIX}"


@dataclass(frozen=True)
class Ours:
    """The daemon's roles by hand, with what the planner would choose."""

    bench: Bench
    server: Server
    sizes: Mapping[str, int]

    def up(self, source: Path) -> Used:
        """Into the bucket."""
        lanes = max(self._lanes(), AT_ONCE)
        usual = self._chunk(lanes) if self.bench.chunk_mib else min(self._chunk(lanes), USUAL_BYTES)
        size = part_bytes(usual, max(self.sizes.values()))
        return self._move(lanes, size, f"{source}/", PLACE)

    def down(self, target: Path) -> Used:
        """Out of the bucket."""
        lanes = max(self._lanes(), AT_ONCE)
        return self._move(lanes, self._chunk(lanes), PLACE, str(target))

    def _lanes(self) -> int:
        return self.bench.lanes or lanes_per_path(0, sum(self.sizes.values()), len(self.sizes))

    def _chunk(self, lanes: int) -> int:
        requested = self.bench.chunk_mib
        return chunk_size(sum(self.sizes.values()), lanes, requested)

    def _move(self, lanes: int, chunk: int, source: str, destination: str) -> Used:
        control = self.bench.folder("control")
        began = time.monotonic()
        options = ["--chunk-mib", str(chunk // MIB), "--lanes", str(lanes)]
        with self._start("plan", control, *options, source) as planning:
            used = [planning.wait(TIMEOUT)]
        listen = ["--listen", f"{ADDRESS}:0"]
        with (
            self._start("receive", control, *listen, destination) as receiver,
            self._start("send", control, "--direct", "--route-key", str(control / "route.key")) as sender,
        ):
            used += [sender.wait(TIMEOUT), receiver.wait(TIMEOUT)]
        return Used(time.monotonic() - began, sum(ended.cpu_seconds for ended in used))

    def _start(self, role: str, control: Path, *words: str) -> AbstractContextManager[Program]:
        argv = [str(self.bench.daemon), role, "--control-dir", str(control), "--transfer", "bench", *words]
        return running(argv, self.bench.work / f"{role}.log", env=self.server.environment)
