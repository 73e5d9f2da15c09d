"""Archived objects of a bucket, restored and then moved: the synthesized template, and hours that a test has go by."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.image import with_daemon

SOURCE, DESTINATION = "cpt-test-archive", "cpt-test-copy"
WARM = {"a.txt": b"warm", "z/large.bin": random.Random(1).randbytes(3 << 20)}
COLD = {
    "cold/one.bin": ("GLACIER", random.Random(2).randbytes(1 << 20)),
    "cold/two": ("GLACIER", b"two"),
    "deep": ("DEEP_ARCHIVE", b"deep"),
}
HELD = WARM | {key: body for key, (_, body) in COLD.items()}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """A deployment that may restore below all prefixes but one; a minute of waiting takes it 5 ms."""
    work = tmp_path_factory.mktemp("restores")
    uses = {"region": OTHER, "read": True}
    allowed = [
        *(
            {"bucket": SOURCE, "prefix": f"{one}/", **uses, "restore": True}
            for one in ("set", "copied", "long", "dear")
        ),
        {"bucket": SOURCE, "prefix": "kept/", **uses},
        {"bucket": DESTINATION, "region": HOME, "write": True},
    ]
    config = LocalConfig.model_validate(
        {
            "port": 0,
            "bootSeconds": 1.0,
            "image": with_daemon(work / "image"),
            "pollSeconds": 0.2,
            "waitMinuteSeconds": 0.2,
            "restoreHourSeconds": 3600,
        }
    )
    with LocalCloud(config, work / "state", synthesized(work / "cdk.out", (HOME, OTHER), buckets=allowed)) as cloud:
        for bucket, region in ((SOURCE, OTHER), (DESTINATION, HOME)):
            place: Any = {"LocationConstraint": region}
            cloud.client("s3", region).create_bucket(Bucket=bucket, CreateBucketConfiguration=place)
        yield Account(cloud, work)


def archived(account: Account, prefix: str) -> dict[str, Any]:
    """Two objects that can be read and three that cannot, and the request's source."""
    s3 = account.cloud.client("s3", OTHER)
    for key, body in WARM.items():
        s3.put_object(Bucket=SOURCE, Key=f"{prefix}/{key}", Body=body)
    for key, (kind, body) in COLD.items():
        s3.put_object(Bucket=SOURCE, Key=f"{prefix}/{key}", Body=body, StorageClass=kind)
    return {"kind": "bucket", "bucket": SOURCE, "prefix": f"{prefix}/", "region": OTHER, "archived": "restore"}


def to_machine(account: Account, prefix: str, out: Path, **more: Any) -> dict[str, Any]:
    where = {"instanceId": account.source, "region": HOME, "path": str(out)}
    return {"source": archived(account, prefix), "destination": where, **more}


def states(account: Account, prefix: str) -> set[str | None]:
    """What S3 says of the restoring of each archived object."""
    s3 = account.cloud.client("s3", OTHER)
    heads = (s3.head_object(Bucket=SOURCE, Key=f"{prefix}/{key}") for key in COLD)
    return {head["Restore"].split(",")[0] if "Restore" in head else None for head in heads}


def restores(account: Account, name: str) -> dict[str, Any]:
    """What the record says of it, for those who watch."""
    found: dict[str, Any] = (account.record(name, "transfer") or {}).get("restores") or {}
    return found


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_what_is_archived_is_restored_and_then_moved_to_a_machine(account: Account, tmp_path: Path) -> None:
    request = to_machine(account, "set", tmp_path / "out")
    dry = account.run({**request, "dryRun": True}, "dry")
    assert dry.status == "SUCCEEDED", dry.cause
    assert dry.report["restores"]["classes"]["GLACIER"]["objects"] == 2
    assert (dry.report["dryRun"]["new"]["files"], states(account, "set")) == (5, {None})

    before = account.cloud.client("ec2", HOME).describe_instances()["Reservations"]
    arn = account.start(request, "restored")
    account.cloud.wait_for(lambda: restores(account, "restored").get("asked") == 3, 60)
    assert states(account, "set") == {'ongoing-request="true"'}
    account.cloud.age_restores(5)
    account.cloud.wait_for(lambda: restores(account, "restored")["ready"] == 2, 60)
    assert not (tmp_path / "out").exists() or files(tmp_path / "out") == {}
    assert account.cloud.client("ec2", HOME).describe_instances()["Reservations"] == before
    account.cloud.age_restores(8)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert run.report["verified"]
    assert files(tmp_path / "out") == HELD
    told = run.report["restores"]
    assert (told["asked"], told["ready"], told["left"]) == (3, 3, 0)
    assert run.report["estimate"]["figures"]["restoresUsd"]["value"] == pytest.approx(told["usd"] + told["copiesUsd"])
    assert run.report["cost"]["requests"] >= told["usd"]
    entered = account.history(arn)
    assert entered.index("Estimate Transfer") < entered.index("Restore Objects") < entered.index("Plan Chunks")


def test_a_budget_that_does_not_bear_restoring_is_refused_and_nothing_is_restored(
    account: Account, tmp_path: Path
) -> None:
    request = to_machine(account, "dear", tmp_path / "out", objective={"maxCostUsd": 0.0002})
    run = account.run(request, "dear")
    assert (run.status, run.error) == ("FAILED", "BudgetTooSmall")
    assert states(account, "dear") == {None}


def test_a_prefix_that_the_settings_let_nobody_restore_is_refused(account: Account, tmp_path: Path) -> None:
    run = account.run(to_machine(account, "kept", tmp_path / "out"), "kept")
    assert (run.status, run.error) == ("FAILED", "InvalidRequest")
    assert "this deployment may not read and restore below s3://cpt-test-archive/kept/" in str(run.cause)
    assert states(account, "kept") == {None}


@only_full
def test_a_transfer_that_is_stopped_while_it_waits_leaves_its_restores_alone(account: Account, tmp_path: Path) -> None:
    """And one that waits for too long ends by itself; S3 goes on restoring, and the next one asks for nothing twice."""
    request = to_machine(account, "long", tmp_path / "out")
    arn = account.start(request, "stopped")
    account.cloud.wait_for(lambda: restores(account, "stopped").get("asked") == 3, 60)
    account.aws.client("stepfunctions").stop_execution(executionArn=arn)
    account.cloud.wait_for(lambda: (account.record("stopped", "transfer") or {}).get("status") == "FAILED", 60)
    assert states(account, "long") == {'ongoing-request="true"'}
    request["source"]["restore"] = {"maxWaitHours": 0.0001}
    run = account.run(request, "overdue")
    assert (run.status, run.error) == ("FAILED", "RestoreOverdue")
    assert "0 of 3 objects are restored" in str(run.cause)
    account.cloud.age_restores(13)
    del request["source"]["restore"]
    run = account.run(request, "later")
    assert run.status == "SUCCEEDED", run.cause
    assert "restores" not in run.report
    assert files(tmp_path / "out") == HELD


@only_full
def test_what_is_archived_is_restored_and_then_copied_to_a_bucket(account: Account) -> None:
    there = {"kind": "bucket", "bucket": DESTINATION, "prefix": "copied/", "region": HOME}
    source, away = archived(account, "copied"), {"Bucket": SOURCE, "Key": "copied/away"}
    account.cloud.client("s3", OTHER).put_object(**away, Body=b"away", StorageClass="GLACIER")
    arn = account.start({"source": source, "destination": there, "onProblem": "skip"}, "copied")
    account.cloud.wait_for(lambda: restores(account, "copied").get("asked") == 4, 60)
    account.cloud.client("s3", OTHER).delete_object(**away)
    account.cloud.age_restores(13)
    run = account.wait(arn)
    assert (run.status, run.report["status"]) == ("SUCCEEDED", "SUCCEEDED_WITH_SKIPS"), run.cause
    assert [(one["path"], one["reason"]) for one in run.report["skipped"]["first"]] == [("away", "source-changed")]
    s3 = account.cloud.client("s3", HOME)
    copies = {key: s3.get_object(Bucket=DESTINATION, Key=f"copied/{key}")["Body"].read() for key in HELD}
    assert copies == HELD
    assert (run.report["restores"]["ready"], run.report["restores"]["left"]) == (3, 1)
