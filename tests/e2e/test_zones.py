"""Ends in two availability zones of one region: AWS charges what goes between them, so the budget holds it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.account import HOME, Account
from tests.e2e.files import make_files, tree

GB_USD = 0.02  # out of one zone and into the other
LARGE = 600_000_000
METERED_MBPS = 40
# At 5 MB/s the meter keeps 0.0075 free until its next look: less than that is left at once.
TOO_LITTLE = 0.008


@pytest.fixture(scope="module")
def there(account: Account) -> str:
    """A machine in another zone of the source's region."""
    return account.cloud.launch_vm(HOME, "beside", zone=f"{HOME}b")


def between_zones(account: Account, source: Path | str, work: Path, there: str, **more: Any) -> dict[str, Any]:
    destination = {"instanceId": there, "region": HOME, "path": str(work / "out")}
    return {**account.request(source, work, relays={"pairs": 0}, **more), "destination": destination}


def test_a_terabyte_is_refused_for_a_dollar_with_the_least_that_would_do(
    account: Account, tmp_path: Path, there: str
) -> None:
    def estimated(most: float) -> dict[str, Any]:
        request = between_zones(account, "/data", tmp_path, there, objective={"maxCostUsd": most})
        body = json.dumps({"request": request, "sizeBytes": 10**12}).encode()
        answer = account.aws.client("lambda").invoke(FunctionName="cpt-estimate-request", Payload=body)
        return dict(json.loads(answer["Payload"].read()))

    refused = estimated(1.0)
    assert refused["errorType"] == "BudgetTooSmall"
    least = float(refused["errorMessage"].partition(" needs, ")[2].partition(" dollars")[0])
    assert 1000 * GB_USD < least < 1000 * GB_USD + 1
    row = estimated(least)["rows"][0]
    assert 1000 * GB_USD < row["costUsd"] <= least


def test_report_has_what_went_between_the_zones(account: Account, tmp_path: Path, there: str) -> None:
    source = make_files(tmp_path / "set", large_bytes=50_000_000)
    run = account.run(between_zones(account, source, tmp_path, there), "zones-report")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    cost = run.report["cost"]
    assert (cost["egress"], cost["crossZone"]) == (0, pytest.approx(run.report["bytes"] / 1e9 * GB_USD, rel=0.02))
    assert cost["total"] == pytest.approx(cost["estimate"], rel=0.05)


def test_the_meter_stops_at_the_budget(account: Account, tmp_path: Path, there: str) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    more = {"objective": {"maxCostUsd": 1.0}, "bandwidthLimitMbps": METERED_MBPS}
    arn = account.start(between_zones(account, source, tmp_path, there, **more), "zones-budget")
    account.cloud.wait_for(lambda: account.progress("zones-budget").get("bytes", 0) > 0, 60)
    account.look_at("zones-budget")
    assert account.describe(arn)["status"] == "RUNNING"
    assert float((account.record("zones-budget", "transfer") or {})["spent"]["crossZone"]) > 0

    account.change_record("zones-budget", "request.objective.maxCostUsd", TOO_LITTLE)
    account.look_at("zones-budget")
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "BudgetReached")
    assert 0 < run.report["cost"]["crossZone"] < run.report["cost"]["total"] <= TOO_LITTLE
    assert not (tmp_path / "out" / "set" / "large.bin").exists()
