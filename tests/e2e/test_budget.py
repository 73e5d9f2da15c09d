"""Money while a transfer runs; it runs out within seconds because the stored budget is lowered, the rest is real."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.account import SLOW_MBPS, Account
from tests.e2e.files import make_files, tree

LARGE = 600_000_000  # 0.012 dollars of egress
# Egress with what may be in flight 0.0144, control plane 0.0016, four relays 0.0072 if released now, 0.0136 if later:
# between 0.0232 and 0.0296 they are released, below that all stops.
BUDGET = 0.0264
TOO_LITTLE = 0.0214


def moving(account: Account, source: Path, work: Path, name: str, on_budget: str) -> str:
    """A transfer whose two pairs carry data; its execution."""
    objective = {"maxCostUsd": 1.0, "onBudget": on_budget}
    arn = account.start(account.request(source, work / "out", relays={"pairs": 2}, objective=objective), name)
    account.cloud.wait_for(lambda: {n["state"] for n in account.nodes(name)} == {"JOINED"}, 60)
    account.cloud.wait_for(lambda: account.progress(name)["bytes"] > 0 if account.progress(name)["sequence"] else 0, 30)
    return arn


def spent(account: Account, name: str) -> dict[str, Any]:
    return dict((account.record(name, "transfer") or {})["spent"])


def test_a_budget_that_lasts_changes_nothing(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=50_000_000)
    request = account.request(source, tmp_path / "out", relays={"pairs": 1}, objective={"maxCostUsd": 1.0})
    run = account.run(request, "budget-lasts")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert "budget" not in run.report
    assert run.report["cost"]["total"] == pytest.approx(float(spent(account, "budget-lasts")["total"]))


def test_relays_are_released_and_the_rest_arrives_on_the_direct_path(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = moving(account, source, tmp_path, "budget-direct", "direct")
    # At 5 MB/s there is data left to decide about for two minutes, however busy this machine is.
    account.limit("budget-direct", SLOW_MBPS)
    account.invoke("cpt-reconcile")
    before = spent(account, "budget-direct")
    assert (account.record("budget-direct", "transfer") or {}).get("budget") is None

    account.configure("cpt-reconcile", POLL_SECONDS="not a number")
    with pytest.raises((AssertionError, ClientError)):
        account.invoke("cpt-reconcile")
    account.configure("cpt-reconcile", POLL_SECONDS="1")
    account.change_record("budget-direct", "request.objective.maxCostUsd", BUDGET)
    account.invoke("cpt-reconcile")

    assert {n["state"] for n in account.nodes("budget-direct")} == {"LOST"}
    assert account.describe(arn)["status"] == "RUNNING"
    membership = json.loads((account.record("budget-direct", "membership") or {})["membership"])
    assert [path["pathId"] for path in membership["paths"]] == ["direct"]
    account.limit("budget-direct", None)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert run.report["budget"]["decision"] == "direct"
    assert before["total"] < run.report["cost"]["total"] <= BUDGET
    assert account.left("budget-direct") == {}


def test_the_transfer_stops_and_what_has_arrived_stays(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = moving(account, source, tmp_path, "budget-stop", "stop")
    # As above: however busy this machine is, not all has arrived when the decision falls.
    account.limit("budget-stop", SLOW_MBPS)
    account.change_record("budget-stop", "request.objective.maxCostUsd", TOO_LITTLE)
    account.invoke("cpt-reconcile")
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "BudgetReached")
    assert run.cause is not None
    assert "what has arrived stays" in run.cause
    assert run.report["budget"]["decision"] == "stop"
    assert 0 < run.report["cost"]["egress"] < run.report["cost"]["total"] <= TOO_LITTLE
    assert not (tmp_path / "out" / "set" / "large.bin").exists()
    assert account.left("budget-stop") == {}
