"""After an execution that is stopped from outside nothing is left, and the destination is free again."""

import json
from pathlib import Path

from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree


def test_stopped_execution_leaves_no_instance_rule_daemon_or_lock(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=600_000_000)
    arn = account.start(account.request(source, tmp_path / "out", relays={"pairs": 2}), "stopped")
    account.cloud.wait_for(lambda: len([n for n in account.nodes("stopped") if n["state"] == "JOINED"]) == 4, 60)
    account.aws.client("stepfunctions").stop_execution(executionArn=arn, error="User", cause="changed my mind")

    def nothing_left() -> bool:
        relays = account.launched("stopped", HOME) + account.launched("stopped", OTHER)
        return (
            {relay["State"]["Name"] for relay in relays} <= {"terminated"}
            and not account.rules("stopped", HOME)
            and not account.rules("stopped", OTHER)
            and not account.units(account.source, HOME)
            and not account.units(account.destination, OTHER)
        )

    account.cloud.wait_for(nothing_left, 90)
    assert not (tmp_path / "out" / "set").exists()  # nothing under its final name before the directory is whole
    record = account.cloud.wait_for(
        lambda: (r := account.record("stopped", "transfer")) and r["status"] == "FAILED" and r, 60
    )
    assert "active" not in record
    report = json.loads(
        account.aws.client("s3").get_object(Bucket=account.bucket, Key="transfers/stopped/report.json")["Body"].read()
    )
    assert report["status"] == "FAILED"

    again = account.run(account.request(source, tmp_path / "out", relays={"pairs": 0}), "stopped-again")
    assert (again.status, again.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
