"""The daemon reads a bucket of the local cloud, whatever its keys are and whatever happens to its calls and itself."""

import json
import os
import re
import subprocess
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from local.cloud import LocalCloud
from local.config import Fault
from tests.local.assembly import HOME

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("CPT_LABORATORY", ROOT / "relay-ami" / "relay" / "target" / "release" / "cpt-laboratory"))
MIB = 1 << 20
PREFIX = "data of it/"
# Delivered, but for entries with a problem of their own.
LEFT_OUT = 4
TOO_LONG = "n" * 256
# With what a listing says of each.
HOSTILE = {
    "a": "no-path",
    "a/b": None,
    "c//d": "no-path",
    "/top": "no-path",
    "e/../f": "no-path",
    "g/.": "no-path",
    f"h/{TOO_LONG}": "no-path",
    "full/": "no-path",
    "lone": None,
    "lone/": "no-path",
    ".cpt-partial-x/r0/1": "leftover",
    "order": None,
    "order!": None,
    "order-2": None,
    "order.d/x": None,
    "plus+blank %/é\n\t\x01'\"&<>": None,
}


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"from-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": HOME})
    return name


@pytest.fixture
def objects(s3: Any, bucket: str) -> dict[str, bytes]:
    """A large one, small ones and an empty one, by path; another prefix has one too."""
    made = {"d/large": os.urandom(21 * MIB + 5), "d!": b"before d/ in a listing, after it in a walk", "empty": b""}
    made |= {f"d/deep er/a+b {number} €": os.urandom(3000 + number) for number in range(30)}
    for path, body in made.items():
        s3.put_object(Bucket=bucket, Key=PREFIX + path, Body=body)
    s3.put_object(Bucket=bucket, Key="data of others/x", Body=b"not asked for")
    return made


class Laboratory:
    """A transfer by hand from a bucket into a directory."""

    def __init__(self, cloud: LocalCloud, here: Path, bucket: str) -> None:
        self.here, self.to, self._source = here, here / "to", f"s3://{bucket}/{PREFIX}"
        self.environment = {
            **os.environ,
            "AWS_ENDPOINT_URL": cloud.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": HOME,
        }
        self._control = ["--control-dir", str(here / "control")]
        self._logs = 0

    def run(self, role: str, *words: str) -> dict[str, Any]:
        program = [str(PROGRAM), role, *self._control, *words, self._source]
        done = subprocess.run(program, env=self.environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def plan(self, *words: str) -> None:
        self.run("plan", "--transfer", "by-hand", "--chunk-mib", "1", *words)

    def start(self, role: str, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        self._logs += 1
        log = self.here / f"{role}-{self._logs}.log"
        with log.open("wb") as told:
            program = [str(PROGRAM), role, *self._control, "--transfer", "by-hand", *words]
            return subprocess.Popen(program, env=self.environment, stderr=told, stdout=told), log

    def send(self, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        return self.start("send", "--direct", "--route-key", str(self.here / "route.key"), *words)

    def receive(self, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        return self.start("receive", "--listen", "127.0.0.1:0", *words, str(self.to))

    def move(self, *words: str, code: int = 0) -> dict[str, int]:
        """What the sender counted."""
        receiver, heard = self.receive(*words)
        sender, log = self.send()
        return self.ended(receiver, heard, sender, log, code=code)

    def ended(
        self,
        receiver: subprocess.Popen[bytes],
        heard: Path,
        sender: subprocess.Popen[bytes],
        log: Path,
        code: int = 0,
    ) -> dict[str, int]:
        try:
            assert sender.wait(timeout=200) == code, log.read_text() + heard.read_text()
            assert receiver.wait(timeout=60) == 0, heard.read_text()
        finally:
            for process in (sender, receiver):
                process.kill()
        totals = re.search(r"Totals \{([^}]*)\}", log.read_text())
        assert totals is not None
        return {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", totals[1])}

    def arrived(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.to)): path.read_bytes() for path in self.to.rglob("*") if path.is_file()}


@pytest.fixture
def laboratory(cloud: LocalCloud, tmp_path: Path, bucket: str) -> Laboratory:
    return Laboratory(cloud, tmp_path, bucket)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for part in sorted(folder.iterdir()) for line in part.read_text().splitlines()]


def percent(text: str) -> str:
    return quote(text, safe="-._~/")


def test_keys_that_no_file_system_bears_are_named_and_all_others_arrive(
    s3: Any, laboratory: Laboratory, bucket: str
) -> None:
    for key in HOSTILE:
        s3.put_object(Bucket=bucket, Key=PREFIX + key, Body=b"" if key == "lone/" else key.encode())
    s3.put_object(Bucket=bucket, Key=PREFIX + "hollow/", Body=b"")
    survey = laboratory.run("scan")
    control = laboratory.here / "control"
    left_out = {one["path"]: one["reason"] for one in lines(control / "unselected")}
    expected = {percent(key): reason for key, reason in HOSTILE.items() if reason == "no-path"}
    assert left_out == expected | {".cpt-partial-x": "leftover"}
    assert survey["problemCount"] == 0
    listed = [one["path"] for one in lines(control / "listing")]
    assert listed == sorted(listed, key=lambda path: path.encode().replace(b"/", b"\0"))
    laboratory.plan()
    laboratory.move()
    assert laboratory.arrived() == {key: key.encode() for key, reason in HOSTILE.items() if reason is None}
    assert (laboratory.to / "hollow").is_dir()


def test_a_bucket_arrives_as_a_tree(laboratory: Laboratory, objects: dict[str, bytes]) -> None:
    laboratory.plan()
    totals = laboratory.move()
    assert totals["skipped"] == totals["repaired_chunks"] == 0
    assert laboratory.arrived() == objects


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("GetObject", "SlowDown"),
        ("GetObject", "Cut"),
        ("GetObject", "InternalError"),
        ("GetObject", "ExpiredToken"),
        ("GetObject", "RequestTimeout"),
        ("ListObjectsV2", "SlowDown"),
        ("ListObjectsV2", "Cut"),
        ("ListObjectsV2", "ExpiredToken"),
    ],
)
def test_a_call_that_fails_costs_nothing(
    cloud: LocalCloud, laboratory: Laboratory, objects: dict[str, bytes], operation: str, code: str
) -> None:
    cloud.spoil(Fault(operation=operation, region=HOME, code=code, count=5))
    laboratory.plan()
    totals = laboratory.move()
    assert totals["skipped"] == totals["repaired_chunks"] == 0
    assert laboratory.arrived() == objects


def test_what_is_replaced_or_gone_is_left_out_by_name(
    s3: Any, laboratory: Laboratory, objects: dict[str, bytes], bucket: str
) -> None:
    laboratory.plan()
    s3.put_object(Bucket=bucket, Key=f"{PREFIX}d/large", Body=os.urandom(21 * MIB + 5))
    s3.delete_object(Bucket=bucket, Key=f"{PREFIX}d!")
    assert laboratory.move(code=LEFT_OUT)["skipped"] == 2
    assert laboratory.arrived() == {path: body for path, body in objects.items() if path not in ("d/large", "d!")}


def test_a_sender_that_is_killed_is_followed_by_one_that_goes_on(
    laboratory: Laboratory, objects: dict[str, bytes]
) -> None:
    laboratory.plan()
    chunks = laboratory.here / "control" / "chunks"
    receiver, heard = laboratory.receive()
    killed, told = laboratory.send("--rate-mbps", "40")
    while sum('"DELIVERED"' in chunk.read_text() for chunk in chunks.iterdir() if chunk.suffix != ".new") < 4:
        assert killed.poll() is None, told.read_text()
    killed.kill()
    killed.wait(timeout=10)
    before = sum('"DELIVERED"' in chunk.read_text() for chunk in chunks.iterdir())
    assert before < 20, "too late"
    totals = laboratory.ended(receiver, heard, *laboratory.send())
    assert totals["skipped"] == totals["repaired_chunks"] == 0
    assert laboratory.arrived() == objects


def test_archived_objects_are_a_problem_that_names_how_many(s3: Any, laboratory: Laboratory, bucket: str) -> None:
    for number, kind in enumerate(["GLACIER", "DEEP_ARCHIVE", "STANDARD_IA"]):
        s3.put_object(Bucket=bucket, Key=f"{PREFIX}{number}", Body=b"cold", StorageClass=kind)
    survey = laboratory.run("scan")
    [problem] = survey["problems"]
    assert "2 objects of 8 bytes" in problem["reason"]
    assert survey["files"] == 1


def test_modes_times_and_owners_are_read_where_owners_are_asked_for(
    s3: Any, laboratory: Laboratory, bucket: str
) -> None:
    owner = {"file-owner": str(os.getuid()), "file-group": str(os.getgid())}
    noted = {"file-permissions": "0604", "file-mtime": "1500000000123456789ns", **owner}
    s3.put_object(Bucket=bucket, Key=f"{PREFIX}noted", Body=b"x", Metadata=noted)
    s3.put_object(Bucket=bucket, Key=f"{PREFIX}rclone", Body=b"y", Metadata={"mtime": "1500000000.25"})
    preserve = ["--preserve", '{"owners": "numeric"}']
    laboratory.plan(*preserve)
    laboratory.move(*preserve)
    found = (laboratory.to / "noted").stat()
    assert (found.st_mode & 0o7777, found.st_mtime_ns) == (0o604, 1_500_000_000_123_456_789)
    assert (laboratory.to / "rclone").stat().st_mtime_ns == 1_500_000_000_250_000_000


def test_a_bucket_that_is_not_there_is_a_problem(cloud: LocalCloud, tmp_path: Path) -> None:
    [problem] = Laboratory(cloud, tmp_path, "there-is-none").run("scan")["problems"]
    assert "NoSuchBucket" in problem["reason"]
