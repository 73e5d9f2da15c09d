"""Real bytes whose meter is late by five minutes while heartbeats come on time: no budget is passed, nothing fails."""

import json
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local.config import Fault
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture
from tests.e2e.files import make_files

LATE_SECONDS = 300.0
# Five minutes and a half at the limit below, $0.033 of egress.
LARGE = 1_650_000_000
METERED_MBPS = 40
EGRESS_USD = LARGE / 1e9 * 0.02
# Until the next look: relays for 105 s, requests until a look that is late, bytes in flight.
HELD_USD = 0.012
# What is done when a budget ends, and how much of all egress the budget bears. The first two are used up before the
# late look: after two minutes and a half, and after three and a half.
BUDGETS = {"late-1": ("stop", 0.2), "late-2": ("stop", 0.4), "late-3": ("direct", 1.1), "late-4": ("direct", 3.0)}
USED_UP = ("late-1", "late-2")


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:  # noqa: F811
    """An account of its own, whose schedules come each minute."""
    return make_account()


@only_full
def test_no_budget_is_passed_when_looks_at_the_meter_come_five_minutes_late(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arns = {name: begin(account, source, tmp_path / name, name) for name in BUDGETS}
    for name in BUDGETS:
        joined(account, name)
    late = Fault(operation="DeliverEvent", region=HOME, detail_type="Look Due", code="Late", count=10_000)
    account.cloud.spoil(late.model_copy(update={"late_seconds": LATE_SECONDS}))
    most = {name: accept_less(account, name, share) for name, (_, share) in BUDGETS.items()}
    began = time.monotonic()
    for name in USED_UP:
        account.cloud.wait_for(partial(is_paused, account, name), LATE_SECONDS)
    # Nobody has looked: nothing was decided, and no relay is paid for any more.
    assert time.monotonic() - began < LATE_SECONDS
    for name in USED_UP:
        account.cloud.wait_for(partial(have_ended, account, name), 60)
        assert account.describe(arns[name])["status"] == "RUNNING"
        assert "budget" not in (account.record(name, "transfer") or {})

    runs = {name: account.wait(arn, 2 * LATE_SECONDS) for name, arn in arns.items()}
    # The heartbeat is due every five minutes: with the looks it would have been missed.
    assert time.monotonic() - began > LATE_SECONDS
    for name, run in runs.items():
        assert run.error in (None, "BudgetReached"), (name, run.error, run.cause)
        assert run.report["cost"]["total"] <= most[name], (name, run.report["cost"])
        assert account.left(name) == {}
    assert {name: runs[name].error for name in USED_UP} == dict.fromkeys(USED_UP, "BudgetReached")
    assert runs["late-4"].error is None
    compared = ["diff", "--recursive", "--no-dereference", str(source), str(tmp_path / "late-4" / "set")]
    subprocess.run(compared, check=True, capture_output=True)


def begin(account: Account, source: Path, target: Path, name: str) -> str:
    objective = {"maxCostUsd": 1.0, "onBudget": BUDGETS[name][0]}
    return account.start_slowly(account.request(source, target, relays={"pairs": 1}, objective=objective), name)


def joined(account: Account, name: str) -> None:
    """Its pair carries data, as slowly as it takes to be late."""
    account.cloud.wait_for(lambda: {node["state"] for node in account.nodes(name)} == {"JOINED"}, 120)
    account.cloud.wait_for(lambda: account.progress(name).get("bytes", 0) > 0, 60)
    account.limit(name, METERED_MBPS)


def accept_less(account: Account, name: str, share: float) -> float:
    """Lower the stored budget, as if it had been accepted, with the last look on time; what it is now."""
    account.look_at(name)
    spent: dict[str, Any] = dict((account.record(name, "transfer") or {})["spent"])
    most = round(float(spent["total"]) + HELD_USD + share * EGRESS_USD, 4)
    account.change_record(name, "request.objective.maxCostUsd", most)
    account.look_at(name)
    membership = json.loads((account.record(name, "membership") or {})["membership"])
    assert membership["budgetLease"]["usd"] < most
    return most


def have_ended(account: Account, name: str) -> bool:
    """All relays that were ever launched for it."""
    relays = [relay for region in (HOME, OTHER) for relay in account.launched(name, region)]
    return bool(relays) and all(relay["State"]["Name"] == "terminated" for relay in relays)


def is_paused(account: Account, name: str) -> bool:
    """The sender speaks, and sends nothing."""
    before = account.progress(name)
    account.cloud.wait_for(lambda: account.progress(name)["sequence"] > before["sequence"] + 1, 30)
    return bool(account.progress(name)["movedBytes"] == before["movedBytes"])
