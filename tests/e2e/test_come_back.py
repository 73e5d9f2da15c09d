"""A daemon that dies or hangs is up again within seconds, by its own machine: no function looks, nothing is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.extent import cases
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import begin, finish, rules_disabled

PLACES = {"s0": (HOME, "send"), "r0": (OTHER, "receive")}
# The daemons are one program, and a relay is stopped below: all pairs of seat and signal are in `make chaos`.
ENDS = cases([("s0", "KILL"), ("r0", "STOP"), ("s0", "STOP"), ("r0", "KILL")], [("s0", "KILL")])
RULES = ("cpt-reconcile", "cpt-restart-end", "cpt-watch-relays", "cpt-retry-chunk", "cpt-replace-relay")


def begun(account: Account, work: Path, name: str) -> str:
    """A slow transfer whose pair carries data; its execution."""
    return begin(account, make_files(work / "set", large_bytes=LARGE), work / "out", name)


def epoch(account: Account, name: str, seat_id: str) -> int:
    return int((account.record(name, f"key#{seat_id}") or {})["epoch"])


def moved_by_pair(account: Account, name: str) -> int:
    lanes: list[dict[str, Any]] = account.progress(name)["lanes"]
    return sum(int(lane["bytes"]) for lane in lanes if lane["pathId"] == "pair-1")


def check(account: Account, arn: str, name: str, work: Path) -> dict[str, Any]:
    """It arrived; nobody but the machines themselves has done anything about it."""
    run = finish(account, arn, name)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(work / "out" / "set") == tree(work / "set")
    assert run.report["retries"] == 0
    assert not run.report["replacements"]
    assert not list((work / "out").glob(".cpt-partial-*"))
    return run.report


@pytest.mark.parametrize(("seat_id", "signal"), ENDS)
def test_end_comes_back_and_goes_on_without_an_attempt_lost(
    account: Account, tmp_path: Path, seat_id: str, signal: str
) -> None:
    name, (region, role) = f"{seat_id}-{signal.lower()}", PLACES[seat_id]
    with rules_disabled(account, *RULES):
        arn = begun(account, tmp_path, name)
        before = epoch(account, name, seat_id)
        moved = int(account.progress(name)["movedBytes"])
        machine = account.source if seat_id == "s0" else account.destination
        account.shell(machine, region, f"systemctl kill --signal={signal} 'cpt-{role}-{name}'")
        # A frozen one is killed after 6 s; both are started 0.2 s later.
        account.cloud.wait_for(lambda: epoch(account, name, seat_id) == before + 1, 30)
        account.cloud.wait_for(lambda: int(account.progress(name)["movedBytes"]) > moved, 30)
        report = check(account, arn, name, tmp_path)
    outcome = (account.record(name, "transfer") or {})["outcome"]
    # What an earlier process of the sender moved counts on.
    assert int(json.loads(json.dumps(outcome["delivered"], default=int))["sentBytes"]) >= report["bytes"]


@pytest.mark.parametrize("signal", cases(["STOP", "KILL"], ["STOP"]))
def test_relay_comes_back_and_carries_on(account: Account, tmp_path: Path, signal: str) -> None:
    name = f"relay-{signal.lower()}"
    with rules_disabled(account, *RULES):
        arn = begun(account, tmp_path, name)
        node = next(node for node in account.nodes(name) if node["nodeId"] == "source-1-0")
        account.shell(node["instanceId"], HOME, f"systemctl kill --signal={signal} 'cpt-relay-{name}'")
        gone = account.progress(name)["at"]
        account.cloud.wait_for(lambda: account.progress(name)["at"] > gone + 10, 30)
        before = moved_by_pair(account, name)
        account.cloud.wait_for(lambda: moved_by_pair(account, name) > before, 30)
        check(account, arn, name, tmp_path)
