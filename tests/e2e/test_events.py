"""Relays die and chunks fail; rules decide, and behind the rules the reconciler."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.chaos.extent import only_full
from tests.e2e.account import HOME, KILL_RELAY, LARGE, SLOW_MBPS, Account, Run
from tests.e2e.files import make_files, tree


def paths_with_data(account: Account, transfer_id: str) -> set[str]:
    """Paths whose lanes have delivered something."""
    progress = account.record(transfer_id, "progress#s0")
    lanes = json.loads(progress["document"])["lanes"] if progress else []
    return {lane["pathId"] for lane in lanes if lane["bytes"] > 0}


def begin(account: Account, source: Path, destination: Path, name: str, *, chunk_mib: int = 1, **relays: Any) -> str:
    """A transfer whose pair has delivered something, and that is slow until somebody lifts its limit; its execution."""
    slow = {"chunkSizeMiB": chunk_mib, "bandwidthLimitMbps": SLOW_MBPS}
    arn = account.start(account.request(source, destination, relays={"pairs": 1, **relays}, **slow), name)
    account.cloud.wait_for(lambda: "pair-1" in paths_with_data(account, name), 90)
    return arn


def finish(account: Account, arn: str, name: str) -> Run:
    """Lift its limit and wait for its end."""
    account.limit(name, None)
    return account.wait(arn)


def states_of(account: Account, transfer_id: str) -> dict[str, str]:
    """States of its relays."""
    return {node["nodeId"]: node["state"] for node in account.nodes(transfer_id)}


def joined(account: Account, transfer_id: str, node_id: str) -> Callable[[], bool]:
    """Whether a relay has joined, as a question to wait for."""
    return lambda: states_of(account, transfer_id).get(node_id) == "JOINED"


@contextmanager
def rules_disabled(account: Account, *names: str) -> Iterator[None]:
    """Disable rules of the bus (or of the default bus) for a while."""
    events = account.aws.client("events")
    buses = dict.fromkeys(("cpt-watch-ends", "cpt-watch-relays", "cpt-watch-transfers", "cpt-share-limits"), "default")
    for name in names:
        events.disable_rule(Name=name, EventBusName=buses.get(name, "cpt"))
    try:
        yield
    finally:
        for name in names:
            events.enable_rule(Name=name, EventBusName=buses.get(name, "cpt"))


def source_relay(account: Account, transfer_id: str) -> str:
    """Instance id of the live source relay."""
    live = [relay for relay in account.launched(transfer_id, HOME) if relay["State"]["Name"] == "running"]
    return str(live[0]["InstanceId"])


@only_full
def test_failed_chunk_waits_for_the_rule_and_then_for_the_reconciler(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    with rules_disabled(account, "cpt-retry-chunk", "cpt-replace-relay", "cpt-reconcile"):
        arn = begin(account, source, tmp_path / "out", "waits")
        account.shell(source_relay(account, "waits"), HOME, KILL_RELAY)
        account.limit("waits", None)

        def only_failed_are_left() -> list[dict[str, Any]]:
            left = [i for i in account.chunks("waits") if i["state"] != "DELIVERED" and i["phase"] == 0]
            return left if left and all(item.get("failedAttempt") == item["attempt"] for item in left) else []

        failed = account.cloud.wait_for(only_failed_are_left, 90)
        looked = account.progress("waits")["at"]
        account.cloud.wait_for(lambda: account.progress("waits")["at"] > looked + 4, 30)  # two more reports
        assert {i["chunk"] for i in only_failed_are_left()} == {i["chunk"] for i in failed}  # nobody retried
        assert account.describe(arn)["status"] == "RUNNING"
        account.look_at("waits")
        run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert run.report["retries"] >= len(failed)
    assert tree(tmp_path / "out" / "set") == tree(source)


def test_failed_chunk_is_retried_by_the_rule_alone(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    with rules_disabled(account, "cpt-reconcile", "cpt-replace-relay"):
        arn = begin(account, source, tmp_path / "out", "rule")
        account.shell(source_relay(account, "rule"), HOME, KILL_RELAY)
        run = finish(account, arn, "rule")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert run.report["retries"] >= 1
    assert tree(tmp_path / "out" / "set") == tree(source)
