"""A bucket at one end: the other end's machine reads and writes it, and boto3 says whether every byte is there."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.config import Fault
from tests.chaos.extent import only_full
from tests.e2e.account import END_TYPE, HOME, OTHER, Account, Run
from tests.e2e.buckets import ABSENT, ABSENT_KEY, BUCKET, OWNER, allowing

MIB = 1 << 20
LARGE = 2 * 8 * MIB + 12_345
"""Three parts of 8 MiB, of which the last one is smaller."""


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """A deployment whose settings allow a bucket in the other region."""
    with allowing(tmp_path_factory.mktemp("buckets")) as found:
        yield found


def contents(seed: int) -> dict[str, bytes]:
    """What a tree of files or a prefix holds, by path."""
    randomness = random.Random(seed)
    small = {f"deep/er {number}/ä.bin": randomness.randbytes(randomness.randrange(1, 20_000)) for number in range(25)}
    return {**small, "empty": b"", "large.bin": randomness.randbytes(LARGE), "top.txt": b"top"}


def objects(account: Account, prefix: str) -> dict[str, bytes]:
    """All objects below a prefix, by what their keys have after it."""
    s3 = account.cloud.client("s3", OTHER)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
    return {key.removeprefix(prefix): s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}


def files(root: Path) -> dict[str, bytes]:
    """All files of a tree, by path."""
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*")}
    return {path: file.read_bytes() for path, file in found.items() if file.is_file()}


def assert_whole(account: Account, run: Run, name: str) -> None:
    """It has succeeded and is verified; no upload, rule or machine of it is left."""
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert run.report["verified"]
    assert "Uploads" not in account.cloud.client("s3", OTHER).list_multipart_uploads(Bucket=BUCKET)
    for region in (HOME, OTHER):
        assert account.rules(name, region) == []
        assert account.launched(name, region) == []


def test_a_tree_of_a_machine_becomes_objects_of_a_bucket(account: Account, tmp_path: Path) -> None:
    held = contents(1)
    for path, body in held.items():
        (tmp_path / "set" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "set" / path).write_bytes(body)
    request = {
        "source": {"instanceId": account.source, "region": HOME, "paths": [str(tmp_path / "set")]},
        "destination": {"kind": "bucket", "bucket": BUCKET, "prefix": "out/a b/", "region": OTHER},
        "chunkSizeMiB": 8,
    }
    assert_whole(account, account.run(request, "to-bucket"), "to-bucket")
    assert objects(account, "out/a b/") == {f"set/{path}": body for path, body in held.items()}


def test_objects_of_a_bucket_become_a_tree_on_a_machine(account: Account, tmp_path: Path) -> None:
    held, s3 = contents(2), account.cloud.client("s3", OTHER)
    for path, body in held.items():
        s3.put_object(Bucket=BUCKET, Key=f"in/{path}", Body=body)
    request = {
        "source": {"kind": "bucket", "bucket": BUCKET, "prefix": "in/", "region": OTHER},
        "destination": {"instanceId": account.source, "region": HOME, "path": str(tmp_path / "out")},
        "chunkSizeMiB": 8,
    }
    assert_whole(account, account.run(request, "from-bucket"), "from-bucket")
    assert files(tmp_path / "out") == held
    assert objects(account, "in/") == held


def two_machines(account: Account, prefix: str, out: Path) -> dict[str, Any]:
    """The request that brings what is below a prefix to a directory that two machines see."""
    machines = [account.source, account.cloud.launch_vm(HOME, f"another of {prefix}", END_TYPE)]
    return {
        "source": {"kind": "bucket", "bucket": BUCKET, "prefix": prefix, "region": OTHER},
        "destination": {"instanceIds": machines, "region": HOME, "path": str(out)},
        "chunkSizeMiB": 8,
    }


def test_objects_of_a_bucket_become_a_tree_that_two_machines_write(account: Account, tmp_path: Path) -> None:
    held, s3 = contents(3), account.cloud.client("s3", OTHER)
    for path, body in held.items():
        s3.put_object(Bucket=BUCKET, Key=f"shared/{path}", Body=body)
    run = account.run(two_machines(account, "shared/", tmp_path / "out"), "to-machines")
    assert_whole(account, run, "to-machines")
    assert files(tmp_path / "out") == held
    assert {seat["seatId"] for seat in run.report["seats"]} == {"s0", "s1", "r0", "r1"}


@only_full
def test_a_machine_that_ends_while_it_reads_a_bucket_costs_no_object(account: Account, tmp_path: Path) -> None:
    # A reader is ahead by 16 chunks, four ranges: there are enough for both.
    held = {path: random.Random(path).randbytes(20 * 8 * MIB) for path in ("one.bin", "two.bin")}
    for path, body in held.items():
        account.cloud.client("s3", OTHER).put_object(Bucket=BUCKET, Key=f"much/{path}", Body=body)
    name = "without-a-reader"
    request = two_machines(account, "much/", tmp_path / "out") | {"bandwidthLimitMbps": 160}
    arn = account.start(request, name)

    def has_read() -> bool:
        document = (account.record(name, "progress#s1") or {}).get("document", "{}")
        return int(json.loads(str(document)).get("bytes", 0)) > 0

    account.cloud.wait_for(has_read, 90)
    machine = request["destination"]["instanceIds"][1]
    account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[machine])
    assert_whole(account, account.wait(arn), name)
    assert files(tmp_path / "out") == held


def two_writers(account: Account, root: Path, prefix: str) -> dict[str, Any]:
    """The request that brings a directory that two machines see below a prefix."""
    machines = [account.source, account.cloud.launch_vm(HOME, f"another of {prefix}", END_TYPE)]
    return {
        "source": {"instanceIds": machines, "region": HOME, "paths": [f"{root}/"]},
        "destination": {"kind": "bucket", "bucket": BUCKET, "prefix": prefix, "region": OTHER},
        "chunkSizeMiB": 8,
    }


def write(root: Path, held: dict[str, bytes]) -> None:
    for path, body in held.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(body)


def test_a_tree_that_two_machines_see_becomes_objects_that_both_have_written(account: Account, tmp_path: Path) -> None:
    held = contents(4)
    write(tmp_path, held)
    account.cloud.client("s3", OTHER).put_object(Bucket=BUCKET, Key="writers/top.txt", Body=b"from before")
    run = account.run(two_writers(account, tmp_path, "writers/"), "two-writers")
    assert_whole(account, run, "two-writers")
    assert objects(account, "writers/") == held
    assert {seat["seatId"] for seat in run.report["seats"]} == {"s0", "s1", "r0", "r1"}


@only_full
def test_a_machine_that_ends_while_it_writes_a_bucket_costs_no_object(account: Account, tmp_path: Path) -> None:
    held = {path: random.Random(path).randbytes(20 * 8 * MIB) for path in ("one.bin", "two.bin")}
    write(tmp_path, held)
    name = "without-a-writer"
    request = two_writers(account, tmp_path, "lost/") | {"bandwidthLimitMbps": 160}
    arn = account.start(request, name)

    def has_written() -> bool:
        document = (account.record(name, "progress#r1") or {}).get("document", "{}")
        return int(json.loads(str(document)).get("bytes", 0)) > 0

    account.cloud.wait_for(has_written, 90)
    account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[request["source"]["instanceIds"][1]])
    assert_whole(account, account.wait(arn), name)
    assert objects(account, "lost/") == held


def mirrored(account: Account, tmp_path: Path, prefix: str) -> dict[str, Any]:
    """The request that copies a directory of one file below a prefix."""
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "kept").write_bytes(b"kept")
    return {
        "source": {"instanceId": account.source, "region": HOME, "paths": [f"{tmp_path}/set/"]},
        "destination": {"kind": "bucket", "bucket": BUCKET, "prefix": prefix, "region": OTHER},
    }


def test_what_is_there_is_not_sent_again(account: Account, tmp_path: Path) -> None:
    request = mirrored(account, tmp_path, "again/")
    assert_whole(account, account.run(request, "once"), "once")
    (tmp_path / "set" / "new").write_bytes(b"new")
    again = account.run(request, "again")
    assert_whole(account, again, "again")
    assert again.report["bytes"] == 3
    assert objects(account, "again/") == {"kept": b"kept", "new": b"new"}


@only_full
def test_a_mirror_removes_what_its_digest_names_and_nothing_else(account: Account, tmp_path: Path) -> None:
    request, s3 = mirrored(account, tmp_path, "mirror/"), account.cloud.client("s3", OTHER)
    s3.put_object(Bucket=BUCKET, Key="mirror/extra/object", Body=b"extra")
    s3.put_object(Bucket=BUCKET, Key="beside/object", Body=b"not ours")
    look = account.run({**request, "delete": True, "dryRun": True}, "look")
    assert (look.status, look.cause) == ("SUCCEEDED", None)
    assert set(objects(account, "mirror/")) == {"extra/object"}
    digest = look.report["dryRun"]["deleted"]["digest"]
    mirror = account.run({**request, "delete": True, "confirmDelete": digest}, "mirror")
    assert_whole(account, mirror, "mirror")
    assert objects(account, "mirror/") == {"kept": b"kept"}
    assert objects(account, "beside/") == {"object": b"not ours"}


def test_a_bucket_that_is_not_there_is_named_before_anything_moves(account: Account, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    request = {
        "source": {"instanceId": account.source, "region": HOME, "paths": [str(tmp_path / "file")]},
        "destination": {"kind": "bucket", "bucket": ABSENT, "prefix": "", "region": OTHER},
    }
    run = account.run(request, "absent")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert f"$.destination.prefix: 's3://{ABSENT}/'" in str(run.cause)
    assert "NoSuchBucket" in str(run.cause) or "does not exist" in str(run.cause)
    assert account.history(run.arn).count("Start Transfer") == 0


WRITTEN_AT = 1_600_000_000_123_456_789


@only_full
@pytest.mark.parametrize("owners", [False, True])
def test_what_is_kept_of_a_file_in_a_bucket_and_back_is_what_the_table_says(
    account: Account, tmp_path: Path, *, owners: bool
) -> None:
    """The table of docs/use.md, row by row."""
    name, s3 = f"kept-{owners}".lower(), account.cloud.client("s3", OTHER)
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "empty").mkdir(parents=True)
    (here / "file").write_bytes(b"content")
    (here / "file").chmod(0o4751)
    (here / "twin").hardlink_to(here / "file")
    (here / "link").symlink_to("file")
    os.mkfifo(here / "pipe")
    os.utime(here / "file", ns=(WRITTEN_AT, WRITTEN_AT))
    preserve = {"onProblem": "skip", **({"preserve": {"owners": "numeric"}} if owners else {})}
    machine = {"instanceId": account.source, "region": HOME}
    bucket = {"kind": "bucket", "bucket": BUCKET, "prefix": f"{name}/", "region": OTHER}
    out = account.run({"source": {**machine, "paths": [f"{here}/"]}, "destination": bucket, **preserve}, f"{name}-out")
    assert (out.report["status"], out.report["unselected"]["counts"]) == ("SUCCEEDED_WITH_SKIPS", {"special": 1})
    assert [(one["path"], one["reason"]) for one in out.report["skipped"]["first"]] == [("link", "destination-refused")]
    assert objects(account, f"{name}/") == {"file": b"content", "twin": b"content"}
    kept = {"file-mtime": f"{WRITTEN_AT}ns", "file-permissions": "4751"}
    of_owners = {"file-owner": str(os.geteuid()), "file-group": str(os.getegid())} if owners else {}
    assert s3.head_object(Bucket=BUCKET, Key=f"{name}/file")["Metadata"] == {**kept, **of_owners}
    back = account.run({"source": bucket, "destination": {**machine, "path": str(there)}, **preserve}, f"{name}-back")
    assert_whole(account, back, f"{name}-back")
    found = (there / "file").stat()
    written = s3.head_object(Bucket=BUCKET, Key=f"{name}/file")["LastModified"].timestamp()
    mode, seconds = (0o4751, WRITTEN_AT // 10**9) if owners else (0o644, int(written))
    assert (found.st_mode & 0o7777, int(found.st_mtime)) == (mode, seconds)
    assert sorted(one.name for one in there.iterdir()) == ["file", "twin"]


def begun(account: Account, prefix: str) -> list[dict[str, Any]]:
    """Unfinished uploads below a prefix."""
    s3 = account.cloud.client("s3", OTHER)
    return list(s3.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads", []))


def test_what_a_stopped_transfer_left_is_swept_once_no_run_can_go_on_with_it(account: Account, tmp_path: Path) -> None:
    """Also the upload whose creation was answered to nobody, and no other one to the same key."""
    (tmp_path / "large.bin").write_bytes(random.Random(4).randbytes(5 * 8 * MIB))
    request = {
        "source": {"instanceId": account.source, "region": HOME, "paths": [f"{tmp_path}/"]},
        "destination": {"kind": "bucket", "bucket": BUCKET, "prefix": "left/", "region": OTHER},
        "chunkSizeMiB": 8,
        "bandwidthLimitMbps": 32,
    }
    large = {"region": OTHER, "key": "left/large.bin"}
    account.cloud.spoil(Fault(operation="CreateMultipartUpload", code="Cut", **large))
    # However late this test stops it, the object is not whole by then.
    account.cloud.spoil(Fault(operation="CompleteMultipartUpload", code="SlowDown", count=10_000, **large))
    for function in ("cpt-sweep-execution", "cpt-tear-down"):
        account.configure(function, CHUNK_RETENTION_SECONDS="0")
    arn = account.start(request, "left")
    account.cloud.wait_for(lambda: any(chunk["state"] == "DELIVERED" for chunk in account.chunks("left")), 120)
    account.aws.client("stepfunctions").stop_execution(executionArn=arn, error="Stopped", cause="by a test")
    account.cloud.wait_for(lambda: "active" not in (account.record("left", "transfer") or {"active": ""}), 120)
    s3 = account.cloud.client("s3", OTHER)
    others = s3.create_multipart_upload(Bucket=BUCKET, Key="left/large.bin")["UploadId"]
    assert len(begun(account, "left/")) == 3
    assert all(key.startswith(".cpt-partial-left/") for key in objects(account, "left/"))
    unfinished = account.wait(arn).report["unfinished"]
    assert unfinished["uploads"] == 2
    assert unfinished["bytes"] % (8 * MIB) == 0 < unfinished["bytes"]
    account.invoke("cpt-sweep-uploads")
    assert [one["UploadId"] for one in begun(account, "left/")] == [others]
    assert objects(account, "left/") == {}
    s3.abort_multipart_upload(Bucket=BUCKET, Key="left/large.bin", UploadId=others)


@only_full
@pytest.mark.parametrize("role", ["receive", "send"])
def test_a_daemon_that_is_killed_while_a_bucket_is_written_goes_on(account: Account, tmp_path: Path, role: str) -> None:
    name, held = f"killed-{role}", {"large.bin": random.Random(3).randbytes(5 * 8 * MIB)}
    (tmp_path / "large.bin").write_bytes(held["large.bin"])
    request = {
        "source": {"instanceId": account.source, "region": HOME, "paths": [f"{tmp_path}/"]},
        "destination": {"kind": "bucket", "bucket": BUCKET, "prefix": f"{name}/", "region": OTHER},
        "chunkSizeMiB": 8,
        "bandwidthLimitMbps": 80,
    }
    arn = account.start(request, name)
    account.cloud.wait_for(lambda: sum(chunk["state"] == "DELIVERED" for chunk in account.chunks(name)) >= 1, 120)
    account.shell(account.source, HOME, f"systemctl kill --signal=KILL 'cpt-{role}-{name}'")
    assert_whole(account, account.wait(arn), name)
    assert objects(account, f"{name}/") == held


def test_objects_get_a_class_and_tags_and_those_of_an_archive_a_rule(account: Account, tmp_path: Path) -> None:
    request, s3 = mirrored(account, tmp_path, "cold/"), account.cloud.client("s3", OTHER)
    (tmp_path / "set" / "large").write_bytes(random.Random(7).randbytes(LARGE))
    request["chunkSizeMiB"] = 8
    request["destination"] |= {"storageClass": "GLACIER", "tags": {"of a": "request"}, "expectedBucketOwner": OWNER}
    assert_whole(account, account.run(request, "cold"), "cold")
    for key in ("cold/kept", "cold/large"):
        assert s3.head_object(Bucket=BUCKET, Key=key)["StorageClass"] == "GLACIER"
        assert s3.get_object_tagging(Bucket=BUCKET, Key=key)["TagSet"] == [{"Key": "of a", "Value": "request"}]
    s3.put_object(Bucket=BUCKET, Key="cold/warm", Body=b"warm")
    back: dict[str, Any] = {
        "source": {"kind": "bucket", "bucket": BUCKET, "prefix": "cold/", "region": OTHER},
        "destination": {"instanceId": account.source, "region": HOME, "path": str(tmp_path / "back")},
    }
    refused = account.run(back, "archived")
    assert (refused.status, refused.error) == ("FAILED", "SurveyProblem")
    assert "2 objects of 16.8 MB are archived (GLACIER: 2), 'cold/kept' the first of them" in str(refused.cause)
    back["source"]["archived"] = "skip"
    assert_whole(account, account.run(back, "warm"), "warm")
    assert [path.name for path in (tmp_path / "back").iterdir()] == ["warm"]


def test_a_bucket_of_another_owner_is_refused_by_the_survey(account: Account, tmp_path: Path) -> None:
    request = mirrored(account, tmp_path, "theirs/")
    request["destination"]["expectedBucketOwner"] = "111122223333"
    run = account.run(request, "theirs")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert "another account's bucket of this name is denied, too: expectedBucketOwner says whose" in str(run.cause)


def test_a_key_that_cannot_be_used_is_found_by_the_survey(account: Account, tmp_path: Path) -> None:
    request = mirrored(account, tmp_path, "encrypted/")
    request["destination"]["kmsKeyId"] = ABSENT_KEY
    run = account.run(request, "encrypted")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert "KMS.NotFoundException" in str(run.cause)
    assert "name a key that is there, in the bucket's region" in str(run.cause)
    assert objects(account, "encrypted/") == {}
