"""Money while a transfer runs; it runs out within seconds because the stored budget is lowered, the rest is real."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.core.fleet.membership import Membership
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree

LARGE = 600_000_000  # 0.012 dollars of egress
METERED_MBPS = 40
# Egress with what may be in flight 0.0144, control plane 0.0016, four relays 0.0072 if released now, 0.0136 if later:
# between 0.0232 and 0.0296 they are released, below that all stops.
BUDGET = 0.0264
TOO_LITTLE = 0.0214
# Less than the control plane has cost by then.
USED_UP = 0.001
# Beyond what has been sent by then.
LEASED_BYTES = 20_000_000


def moving(account: Account, source: Path, work: Path, name: str, on_budget: str) -> str:
    """A transfer whose two pairs carry data; its execution."""
    objective = {"maxCostUsd": 1.0, "onBudget": on_budget}
    arn = account.start_slowly(account.request(source, work / "out", relays={"pairs": 2}, objective=objective), name)
    account.cloud.wait_for(lambda: {n["state"] for n in account.nodes(name)} == {"JOINED"}, 120)
    account.cloud.wait_for(lambda: account.progress(name)["bytes"] > 0 if account.progress(name)["sequence"] else 0, 30)
    return arn


def spent(account: Account, name: str) -> dict[str, Any]:
    return dict((account.record(name, "transfer") or {})["spent"])


@only_full
def test_a_budget_that_lasts_changes_nothing(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=50_000_000)
    request = account.request(source, tmp_path / "out", relays={"pairs": 1}, objective={"maxCostUsd": 1.0})
    run = account.run(request, "budget-lasts")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert "budget" not in run.report
    assert run.report["cost"]["total"] == pytest.approx(float(spent(account, "budget-lasts")["total"]))


@only_full
def test_relays_are_released_and_the_rest_arrives_on_the_direct_path(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = moving(account, source, tmp_path, "budget-direct", "direct")
    # At 5 MB/s there is data left to decide about for two minutes, however busy this machine is.
    account.limit("budget-direct", METERED_MBPS)
    account.look_at("budget-direct")
    before = spent(account, "budget-direct")
    assert (account.record("budget-direct", "transfer") or {}).get("budget") is None

    account.configure("cpt-reconcile", POLL_SECONDS="not a number")
    with pytest.raises((AssertionError, ClientError)):
        account.look_at("budget-direct")
    account.configure("cpt-reconcile", POLL_SECONDS="1")
    account.change_record("budget-direct", "request.objective.maxCostUsd", BUDGET)
    account.look_at("budget-direct")

    assert {n["state"] for n in account.nodes("budget-direct")} == {"LOST"}
    assert account.logs("budget-direct").keys() == {n["nodeId"] for n in account.nodes("budget-direct")}
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
    account.limit("budget-stop", METERED_MBPS)
    account.change_record("budget-stop", "request.objective.maxCostUsd", TOO_LITTLE)
    account.look_at("budget-stop")
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "BudgetReached")
    assert run.cause is not None
    assert "what has arrived stays" in run.cause
    assert run.report["budget"]["decision"] == "stop"
    assert 0 < run.report["cost"]["egress"] < run.report["cost"]["total"] <= TOO_LITTLE
    assert not (tmp_path / "out" / "set" / "large.bin").exists()
    assert account.left("budget-stop") == {}


@only_full
def test_without_a_look_at_the_meter_the_sender_pauses_and_its_relays_power_themselves_off(
    account: Account, tmp_path: Path
) -> None:
    source, name = make_files(tmp_path / "set", large_bytes=LARGE), "budget-unwatched"
    arn = moving(account, source, tmp_path, name, "stop")
    account.limit(name, METERED_MBPS)
    account.configure("cpt-reconcile", POLL_SECONDS="not a number")
    # Nothing more is launched for this money; as if a look had been taken when so little was left.
    account.change_record(name, "request.objective.maxCostUsd", USED_UP)
    leased = grant(account, name, LEASED_BYTES)
    account.cloud.wait_for(lambda: is_paused(account, name), 60)
    assert 0 < account.progress(name)["movedBytes"] <= leased
    account.cloud.wait_for(lambda: states_of_relays(account, name) == {"terminated"}, 60)
    assert account.describe(arn)["status"] == "RUNNING"

    account.change_record(name, "request.objective.maxCostUsd", 1.0)
    account.configure("cpt-reconcile", POLL_SECONDS="1")
    account.look_at(name)
    account.limit(name, None)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert account.left(name) == {}


def grant(account: Account, name: str, more_bytes: int) -> int:
    """Let the sender have so many bytes more; how many it may have sent then."""
    table = account.aws.resource("dynamodb").Table("cpt-transfers")
    item = account.record(name, "membership") or {}
    present = Membership.model_validate_json(item["membership"], by_alias=True)
    assert present.budget_lease
    sent = int(account.progress(name)["movedBytes"])
    usd = more_bytes / 1e9 * present.budget_lease.usd_per_gb
    changes = {"at": time.time(), "sent_bytes": sent, "usd": usd, "usd_per_hour": 0.0}
    leased = present.leased(present.budget_lease.model_copy(update=changes))
    table.put_item(Item={**item, "version": leased.version, "membership": leased.to_json()})
    return sent + more_bytes


def states_of_relays(account: Account, name: str) -> set[str]:
    """States of all relays that were ever launched."""
    return {str(relay["State"]["Name"]) for region in (HOME, OTHER) for relay in account.launched(name, region)}


def is_paused(account: Account, name: str) -> bool:
    """The sender speaks, and sends nothing."""
    before = account.progress(name)
    account.cloud.wait_for(lambda: account.progress(name)["sequence"] > before["sequence"] + 1, 30)
    return bool(account.progress(name)["movedBytes"] == before["movedBytes"])
