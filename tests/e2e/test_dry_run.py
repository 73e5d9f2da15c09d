"""A dry run says what a transfer would do, as that transfer then does it, and changes nothing."""

import json
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from tests.e2e.account import Account, Run
from tests.e2e.files import make_files, tree

WHOLE = {"new": 0, "changed": 0, "equal": 0}


def counted(run: Run) -> dict[str, int]:
    return {name: run.report["dryRun"][name]["files"] for name in WHOLE}


def listed(account: Account, run: Run) -> set[bytes]:
    """Files that the list of a dry run names."""
    bucket, _, prefix = run.report["dryRun"]["where"].removeprefix("s3://").partition("/")
    client = account.aws.client("s3")
    keys = [found["Key"] for found in client.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])]
    lines = b"".join(client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in sorted(keys)).splitlines()
    return {unquote_to_bytes(entry["path"]) for entry in map(json.loads, lines) if entry["kind"] == "file"}


def stamps(root: Path) -> dict[str, tuple[int, ...]]:
    """What any change of a tree shows in: times of each entry, inodes and sizes."""
    found: dict[str, tuple[int, ...]] = {}
    for folder, folders, files in os.walk(root):
        for name in (".", *folders, *files):
            stat = os.lstat(os.path.join(folder, name))
            found[os.path.join(folder, name)] = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return found


def test_a_dry_run_says_what_the_transfer_then_does_and_changes_nothing(account: Account, tmp_path: Path) -> None:
    source, out = make_files(tmp_path / "set", large_bytes=3_000_000), tmp_path / "out"
    request: dict[str, Any] = account.request(source, out, relays={"pairs": 2})
    files = {b"set/" + name for name, entry in tree(source).items() if entry[0] == "file"}

    first = account.run({**request, "dryRun": True, "name": "backup"}, "look")
    assert (first.status, first.cause) == ("SUCCEEDED", None)
    assert not out.exists()
    assert counted(first) == {**WHOLE, "new": len(files)}
    assert listed(account, first) == files
    assert first.report["bytes"] == first.report["chunks"] == 0
    assert first.report["cost"]["total"] < 0.01
    assert first.report["dryRun"]["new"]["seconds"] == first.report["seconds"]["estimate"] > 0
    assert account.nodes("look") == []
    left = account.left("look")
    assert left.keys() == {"objects"}
    assert all(key.split("/")[-2] == "listing" for key in left["objects"]), "the list that the report names"
    states = account.history(first.arn)
    assert states[-1] == "Transfer Succeeded"
    assert not {"Plan Chunks", "Spawn Relays", "Start Transfer"} & set(states)

    # Its name is still free.
    assert account.run({**request, "relays": {"pairs": 0}, "name": "backup"}, "backup").status == "SUCCEEDED"
    (source / "large.bin").write_bytes(b"rotated")
    (source / "one more").write_bytes(b"new")
    shutil.rmtree(out / "set" / "deep" / "er")
    before = stamps(out)
    second = account.run({**request, "dryRun": True}, "look-again")
    assert second.status == "SUCCEEDED"
    assert stamps(out) == before
    assert counted(second) == {"new": 1, "changed": 1, "equal": len(files) - 1}
    assert listed(account, second) == {b"set/large.bin", b"set/one more"}

    moved = account.run({**request, "relays": {"pairs": 0}}, "after-a-look")
    assert (moved.status, moved.cause) == ("SUCCEEDED", None)
    said = second.report["dryRun"]
    assert moved.report["bytes"] == said["new"]["bytes"] + said["changed"]["bytes"]
    assert moved.report["same"]["files"] == said["equal"]["files"]
    third = account.run({**request, "dryRun": True}, "look-at-last")
    assert counted(third) == {**WHOLE, "equal": len(files) + 1}
    assert third.report["dryRun"]["equal"]["seconds"] == 0


def test_a_dry_run_finds_what_would_fail_the_transfer(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1_000)
    request = account.request(source / "absent", tmp_path / "out", dryRun=True)
    run = account.run(request, "look-at-nothing")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    refused = account.run(account.request(source, tmp_path / "out", dryRun=True, approval="required"), "look-approved")
    assert (refused.status, refused.error) == ("FAILED", "InvalidRequest")
    assert "$.dryRun: true, and $.approval is 'required'" in str(refused.cause)
