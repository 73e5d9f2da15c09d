"""rclone, at whichever of its documented settings is fastest here; it compares MD5s, as it does by itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.buckets.data import PREFIX
from bench.buckets.servers import BUCKET, KEYS, REGION, Server
from bench.buckets.used import Used
from bench.data_plane.bench import Bench
from bench.data_plane.peers.programs import require
from bench.data_plane.process import running

TIMEOUT = 900.0
REMOTE = f":s3:{BUCKET}/{PREFIX}"
# Nothing is there before: no look at it is needed, and none at an object that was just put.
COMMON = ("--no-check-dest", "--s3-no-check-bucket", "--s3-no-head", "--s3-use-unsigned-payload=true")
LARGE_UP = tuple(
    ("--s3-chunk-size", size, "--s3-upload-concurrency", count)
    for size, count in (("16M", "4"), ("16M", "8"), ("64M", "4"), ("64M", "8"))
)
LARGE_DOWN = (
    ("--multi-thread-streams", "4"),
    ("--multi-thread-streams", "8"),
    ("--multi-thread-streams", "16", "--multi-thread-chunk-size", "16M"),
    ("--multi-thread-streams", "0", "--buffer-size", "0"),
)
SMALL = tuple(("--transfers", count, "--checkers", count, "--fast-list") for count in ("8", "32", "64"))
SETTINGS = {("up", False): LARGE_UP, ("down", False): LARGE_DOWN, ("up", True): SMALL, ("down", True): SMALL}


@dataclass(frozen=True)
class Rclone:
    """One setting of it."""

    bench: Bench
    server: Server
    setting: tuple[str, ...]

    def up(self, source: Path) -> Used:
        """Into the bucket."""
        return self._copy(str(source), REMOTE)

    def down(self, target: Path) -> Used:
        """Out of the bucket."""
        return self._copy(REMOTE, str(target))

    def _copy(self, source: str, destination: str) -> Used:
        argv = [require("rclone"), "copy", source, destination, "--ca-cert", str(self.server.ca), *COMMON]
        with running([*argv, *self.setting], self.bench.work / "rclone.log", env=self._environment()) as program:
            ended = program.wait(TIMEOUT)
        return Used(ended.seconds, ended.cpu_seconds)

    def _environment(self) -> Mapping[str, str]:
        return {
            "RCLONE_CONFIG": "/dev/null",
            "RCLONE_S3_PROVIDER": "Other",
            "RCLONE_S3_ENDPOINT": self.server.endpoint,
            "RCLONE_S3_REGION": REGION,
            "RCLONE_S3_ACCESS_KEY_ID": KEYS["AWS_ACCESS_KEY_ID"],
            "RCLONE_S3_SECRET_ACCESS_KEY": KEYS["AWS_SECRET_ACCESS_KEY"],
            "RCLONE_S3_LIST_VERSION": "2",
        }
