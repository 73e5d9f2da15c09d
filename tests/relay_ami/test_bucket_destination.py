"""The daemon writes into a bucket of the local cloud, whatever happens to its calls and to itself."""

import json
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.cloud import LocalCloud
from local.config import Fault
from tests.chaos.extent import cases
from tests.local.assembly import HOME

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("CPT_LABORATORY", ROOT / "relay-ami" / "relay" / "target" / "release" / "cpt-laboratory"))
MIB = 1 << 20
PREFIX = "backup/of it/"
# Everything but links arrived.
LEFT_OUT = 4


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"to-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": HOME})
    return name


def noise(length: int) -> bytes:
    return os.urandom(length)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tree with a large file, small ones, an empty one, and what no bucket has."""
    root = tmp_path / "from"
    (root / "d" / "deep er").mkdir(parents=True)
    (root / "hollow").mkdir()
    (root / "d" / "large").write_bytes(noise(21 * MIB + 5))
    for number in range(30):
        (root / "d" / "deep er" / f"a+b {number} €").write_bytes(noise(3000 + number))
    (root / "d!").write_bytes(b"before d/ in a listing, after it in a walk")
    (root / "empty").write_bytes(b"")
    return root


class Laboratory:
    """A transfer by hand from a directory into a bucket."""

    def __init__(
        self, cloud: LocalCloud, here: Path, source: Path, bucket: str, keys: dict[str, str] | None = None
    ) -> None:
        self.cloud, self.here, self.bucket = cloud, here, bucket
        self.environment = {
            **os.environ,
            "AWS_ENDPOINT_URL": cloud.endpoint,
            "AWS_REGION": HOME,
            **(keys or {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}),
        }
        self._control = ["--control-dir", str(here / "control"), "--transfer", "by-hand"]
        self._run("plan", "--chunk-mib", "8", f"{source}/")
        self._logs = 0

    def _run(self, role: str, *words: str) -> str:
        done = subprocess.run(
            [PROGRAM, role, *self._control, *words], env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, role: str, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        self._logs += 1
        log = self.here / f"{role}-{self._logs}.log"
        with log.open("wb") as told:
            program = [str(PROGRAM), role, *self._control, *words]
            return subprocess.Popen(program, env=self.environment, stderr=told, stdout=told), log

    def receive(self, *words: str, prefix: str = PREFIX) -> tuple[subprocess.Popen[bytes], Path]:
        """A receiver whose address the sender finds."""
        ready = self.here / f"ready-{self._logs}"
        told = ("--ready", str(ready), *words)
        receiver, log = self.start("receive", "--listen", "127.0.0.1:0", *told, f"s3://{self.bucket}/{prefix}")
        waited = [str(PROGRAM), "await-ready", str(ready), "--seconds", "60"]
        if subprocess.run(waited, stdout=subprocess.DEVNULL, timeout=90).returncode:
            receiver.kill()
            raise AssertionError(log.read_text())
        return receiver, log

    def move(self, *words: str, code: int = 0) -> tuple[dict[str, int], int]:
        """What the sender counted, and the bytes that came to the receiver."""
        receiver, heard = self.receive(*words)
        sender, log = self.start("send", "--direct", *words)
        try:
            assert sender.wait(timeout=200) == code, log.read_text() + heard.read_text()
            assert receiver.wait(timeout=60) == 0, heard.read_text()
        finally:
            for process in (sender, receiver):
                process.kill()
        totals = re.search(r"Totals \{([^}]*)\}", log.read_text())
        assert totals is not None
        came = re.findall(r"progress bytes=(\d+)", heard.read_text())[-1]
        return {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", totals[1])}, int(came)


@pytest.fixture
def laboratory(cloud: LocalCloud, tmp_path: Path, source: Path, bucket: str) -> Laboratory:
    return Laboratory(cloud, tmp_path, source, bucket)


def assert_arrived(s3: Any, bucket: str, source: Path) -> None:
    """All files are objects, with their bytes, modes and times, and nothing else is there: no notes, no uploads."""
    wanted = {f"{PREFIX}{path.relative_to(source)}": path for path in source.rglob("*") if path.is_file()}
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    assert {found["Key"] for page in pages for found in page.get("Contents", [])} == set(wanted)
    for key, path in wanted.items():
        found = s3.get_object(Bucket=bucket, Key=key)
        assert found["Body"].read() == path.read_bytes(), key
        status = path.stat()
        kept = {"file-permissions": f"{status.st_mode & 0o7777:04o}", "file-mtime": f"{status.st_mtime_ns}ns"}
        assert found["Metadata"] == kept, key
    assert s3.list_multipart_uploads(Bucket=bucket).get("Uploads", []) == []


def test_a_tree_arrives_as_objects_and_nothing_else_is_left(
    s3: Any, laboratory: Laboratory, source: Path, bucket: str
) -> None:
    totals, _ = laboratory.move()
    assert totals["skipped"] == totals["repaired_chunks"] == 0
    assert_arrived(s3, bucket, source)
    head = s3.head_object(Bucket=bucket, Key=f"{PREFIX}d/large", ChecksumMode="ENABLED")
    assert head["ChecksumType"] == "FULL_OBJECT"
    assert head["ETag"].endswith('-3"')


@pytest.mark.parametrize("verify", cases(["readback", "crc64"], ["readback"]))
def test_every_kind_of_proof_arrives(s3: Any, laboratory: Laboratory, source: Path, bucket: str, verify: str) -> None:
    laboratory.move("--verify", verify)
    assert_arrived(s3, bucket, source)


def test_links_are_left_out_by_name(s3: Any, cloud: LocalCloud, tmp_path: Path, source: Path, bucket: str) -> None:
    (source / "link").symlink_to("d/large")
    made = Laboratory(cloud, tmp_path, source, bucket)
    totals, _ = made.move(code=LEFT_OUT)
    assert totals["skipped"] == 1
    (source / "link").unlink()
    assert_arrived(s3, bucket, source)


SHORT = [
    ("CompleteMultipartUpload", "ErrorInBody"),
    ("CompleteMultipartUpload", "Twice"),
    ("UploadPart", "Cut"),
    ("PutObject", "ExpiredToken"),
]
FAULTS = [
    ("CompleteMultipartUpload", "ErrorInBody"),
    ("CompleteMultipartUpload", "Cut"),
    ("CompleteMultipartUpload", "Twice"),
    ("CompleteMultipartUpload", "ConditionalRequestConflict"),
    ("CompleteMultipartUpload", "InternalError"),
    ("CreateMultipartUpload", "SlowDown"),
    ("CreateMultipartUpload", "ExpiredToken"),
    ("UploadPart", "SlowDown"),
    ("UploadPart", "Cut"),
    ("UploadPart", "Twice"),
    ("UploadPart", "RequestTimeout"),
    ("UploadPart", "ExpiredToken"),
    ("PutObject", "SlowDown"),
    ("PutObject", "Cut"),
    ("PutObject", "Twice"),
    ("PutObject", "OperationAborted"),
    ("PutObject", "ExpiredToken"),
    ("ListObjectsV2", "Cut"),
    ("ListObjectsV2", "InternalError"),
    ("DeleteObject", "ServiceUnavailable"),
]


@pytest.mark.parametrize(("operation", "code"), cases(FAULTS, SHORT))
def test_a_call_that_fails_costs_no_object_and_leaves_nothing(
    s3: Any, cloud: LocalCloud, laboratory: Laboratory, source: Path, bucket: str, operation: str, code: str
) -> None:
    cloud.spoil(Fault(operation=operation, region=HOME, code=code, count=2))
    totals, _ = laboratory.move()
    assert totals["skipped"] == totals["repaired_chunks"] == 0
    assert_arrived(s3, bucket, source)


def stop_after(laboratory: Laboratory, is_time: Callable[[], bool]) -> None:
    """Kill the receiver once it is time; the sender is told to stop after that."""
    receiver, heard = laboratory.receive()
    sender, _ = laboratory.start("send", "--direct", "--rate-mbps", "80")
    try:
        laboratory.cloud.wait_for(lambda: True if is_time() else None, 60)
        assert receiver.poll() is None, heard.read_text()
        receiver.kill()
        receiver.wait(timeout=10)
        sender.send_signal(signal.SIGTERM)
        sender.wait(timeout=60)
    finally:
        for process in (sender, receiver):
            process.kill()


def test_a_receiver_that_is_killed_is_followed_by_one_that_sends_no_noted_part_again(
    s3: Any, laboratory: Laboratory, source: Path, bucket: str
) -> None:
    chunks = laboratory.here / "control" / "chunks"

    def delivered() -> list[int]:
        return [1 for chunk in chunks.glob("*.json") if '"DELIVERED"' in chunk.read_text()]

    stop_after(laboratory, lambda: len(delivered()) >= 2)
    before = sum(delivered())
    begun = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    assert len(begun) == 1
    assert s3.list_objects_v2(Bucket=bucket, Prefix=f"{PREFIX}.cpt-partial-by-hand/r0/")["KeyCount"] >= 1
    totals, came = laboratory.move()
    # Parts are the first chunks, and the last one of them is smaller.
    assert came <= totals["bytes"] - before * 5 * MIB
    assert_arrived(s3, bucket, source)


def test_an_upload_that_somebody_aborts_comes_again_whole(
    s3: Any, laboratory: Laboratory, source: Path, bucket: str
) -> None:
    chunks = laboratory.here / "control" / "chunks"
    stop_after(laboratory, lambda: any('"DELIVERED"' in chunk.read_text() for chunk in chunks.glob("*.json")))
    for upload in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", []):
        s3.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    laboratory.move()
    assert_arrived(s3, bucket, source)


def test_a_bucket_that_is_not_there_is_named(cloud: LocalCloud, tmp_path: Path, source: Path) -> None:
    made = Laboratory(cloud, tmp_path, source, "there-is-none")
    receiver, heard = made.receive()
    assert receiver.wait(timeout=100) != 0
    assert "NoSuchBucket" in heard.read_text()


def narrowed(cloud: LocalCloud, bucket: str, prefix: str) -> dict[str, str]:
    """Keys of a session that may do below one prefix what a receiver does, and nothing else."""
    iam, name = cloud.client("iam"), f"writer-{uuid.uuid4()}"
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    role = iam.create_role(
        RoleName=name, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    )["Role"]["Arn"]
    everything = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    iam.put_role_policy(
        RoleName=name,
        PolicyName="own",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [everything]}),
    )
    below = f"arn:aws:s3:::{bucket}/{prefix}"
    actions = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
    statements = [
        {"Effect": "Allow", "Action": actions, "Resource": f"{below}*"},
        {"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": f"{below}.cpt-partial-by-hand/*"},
        {
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": f"arn:aws:s3:::{bucket}",
            "Condition": {"StringLike": {"s3:prefix": f"{prefix}*"}},
        },
    ]
    keys = cloud.client("sts").assume_role(
        RoleArn=role,
        RoleSessionName="by-hand",
        Policy=json.dumps({"Version": "2012-10-17", "Statement": statements}),
    )["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }


def test_keys_for_one_prefix_are_enough_for_it_and_no_use_beside_it(
    s3: Any, cloud: LocalCloud, tmp_path: Path, source: Path, bucket: str
) -> None:
    made = Laboratory(cloud, tmp_path, source, bucket, narrowed(cloud, bucket, PREFIX))
    # Which asks what became of an upload that is not there any more.
    cloud.spoil(Fault(operation="CompleteMultipartUpload", region=HOME, code="Twice"))
    made.move()
    assert_arrived(s3, bucket, source)
    receiver, heard = made.receive(prefix="neighbour/")
    assert receiver.wait(timeout=100) != 0
    assert "AccessDenied" in heard.read_text()
