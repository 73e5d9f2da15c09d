"""Relays cost money by the second: they end with the data, not with the transfer."""

from math import ceil
from pathlib import Path

import pytest

from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import begin


def test_relays_are_terminating_before_verification_begins(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = begin(account, source, tmp_path / "out", "released")
    account.limit("released", None)
    account.entered(arn, "Verify Transfer", 120)
    for region in (HOME, OTHER):
        assert {relay["State"]["Name"] for relay in account.launched("released", region)} <= {
            "shutting-down",
            "terminated",
        }
    run = account.wait(arn)
    assert (run.status, run.cause, run.report["pairs"]) == ("SUCCEEDED", None, 1)
    assert tree(tmp_path / "out" / "set") == tree(source)
    states = account.history(arn)
    assert states.index("Release Relays") < states.index("Verify Transfer") < states.index("Tear Down")
    stages = (account.record("released", "transfer") or {})["stages"]
    for node in run.report["nodes"]:
        assert stages["Release Relays"]["enteredAt"] <= node["endedAt"] <= stages["Verify Transfer"]["enteredAt"]
    # What its relays and ends have logged outlives them.
    logs = account.logs("released")
    machines = {"source", "destination"} | {node["nodeId"] for node in run.report["nodes"] if node["joinedAt"]}
    assert machines <= logs.keys()
    assert all('transfer{id="released"}' in text for text in logs.values()), logs
    # Nothing else was billed than from the request to the release.
    hours = [figure["value"] for figure in run.report["estimate"]["figures"]["relayHoursUsd"]]
    bill = sum(ceil(max(n["endedAt"] - n["requestedAt"], 60)) * hours[n["stage"]] / 3600 for n in run.report["nodes"])
    assert run.report["cost"]["relays"] == pytest.approx(bill, abs=1e-6)


def test_without_relays_nothing_is_released(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1000)
    run = account.run(account.request(source, tmp_path / "out", relays={"pairs": 0}), "released-none")
    assert run.status == "SUCCEEDED"
    assert "Release Relays" not in account.history(run.arn)
