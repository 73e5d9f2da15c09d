"""Whole executions in which services misbehave, by count: the data arrives all the same, and nothing is left."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos import account as chaos
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, KILL_RELAY, OTHER, Account
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture
from tests.e2e.files import make_files, tree

NARROW = {"interRegionMBps": 10.0, "intraRegionMBps": 80.0}
LARGE = 500_000_000  # 50 s on the direct path; relays join after some seconds, and are lost in the middle
TIMES = 3
EVENTS = [
    "Chunk Failed",
    "Relay Lost",
    "Transfer Delivered",
    "EC2 Instance State-change Notification",
    "EC2 Spot Instance Interruption Warning",
]
STAGES = [
    "validate-request",
    "resolve-paths",
    "survey-ends",
    "estimate-transfer",
    "plan-chunks",
    "start-transfer",
    "spawn-relays",
    "await-relays",
    "join-relays",
    "release-relays",
    "verify-transfer",
    "tear-down",
    "write-report",
]
REACTIONS = ["retry-chunk", "replace-relay", "finish-transfer", "reconcile"]
REACTIONS += ["watch-ends", "watch-relays", "watch-transfers"]


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:  # noqa: F811
    """An account in which the reconciler looks every 10 s: what events would have told it finds."""
    return make_account(scheduleMinuteSeconds=10.0, caps=NARROW)


def start(account: Account, work: Path, name: str, **more: object) -> str:
    """A transfer through two pairs; its execution."""
    source = make_files(work / "set", large_bytes=LARGE)
    return account.start(account.request(f"{source}/", work / "out", **{"relays": {"pairs": 2}, **more}), name)


def lose_relays(account: Account, name: str) -> None:
    """Once data moves, stop one pair's near relay and warn the other's far one: every kind of event is put."""
    chaos.moving(account, name, "pair-1", "pair-2")
    account.shell(chaos.relay(account, name, "source-1-0"), HOME, KILL_RELAY)
    account.cloud.interrupt(chaos.relay(account, name, "destination-2-0"))


def finish(account: Account, work: Path, arn: str, name: str) -> None:
    chaos.check_arrived(account, account.wait(arn), name, work / "set", work / "out")


@only_full
@pytest.mark.parametrize("code", ["Doubled", "Late"])
def test_events_are_doubled_or_out_of_order(account: Account, tmp_path: Path, code: str) -> None:
    for kind in EVENTS:
        chaos.spoil(account, "DeliverEvent", TIMES, detailType=kind, code=code, lateSeconds=4)
    name = f"events-{code.lower()}"
    arn = start(account, tmp_path, name)
    lose_relays(account, name)
    finish(account, tmp_path, arn, name)


@only_full
def test_every_function_is_invoked_twice(account: Account, tmp_path: Path) -> None:
    for function in STAGES + REACTIONS:
        chaos.spoil(account, "Invoke", TIMES, regions=[HOME], function=f"cpt-{function}", code="Twice")
    # Who asks second is told to come again in 15 s, or in 30 s: 100 s of data outlast that and the relays' start.
    arn = start(account, tmp_path, "twice", bandwidthLimitMbps=40)
    lose_relays(account, "twice")
    finish(account, tmp_path, arn, "twice")


@only_full
def test_every_function_dies_after_its_work(account: Account, tmp_path: Path) -> None:
    for function in STAGES + REACTIONS:
        chaos.spoil(account, "Invoke", 1, regions=[HOME], function=f"cpt-{function}", code="Sandbox.Timedout")
    arn = start(account, tmp_path, "died")
    lose_relays(account, "died")
    finish(account, tmp_path, arn, "died")


@only_full
def test_bus_and_tables_refuse_or_take_a_part(account: Account, tmp_path: Path) -> None:
    for kind in EVENTS[:3]:
        chaos.spoil(account, "PutEvents", TIMES, regions=[HOME], detailType=kind, code="ThrottlingException")
    tables = {"regions": [HOME], "table": "cpt-chunks"}
    chaos.spoil(account, "BatchWriteItem", TIMES, **tables, code="UnprocessedItems", available=5)
    for operation in ("UpdateItem", "Query", "GetItem"):
        chaos.spoil(account, operation, TIMES, **tables, after=5, code="ProvisionedThroughputExceededException")
    arn = start(account, tmp_path, "refused")
    lose_relays(account, "refused")
    finish(account, tmp_path, arn, "refused")


@only_full
@pytest.mark.parametrize(("lost", "region"), [("source-2-0", HOME), ("destination-2-0", OTHER)])
def test_relay_inside_a_mesh_is_lost(account: Account, tmp_path: Path, lost: str, region: str) -> None:
    name = f"mesh-{lost}"
    arn = start(account, tmp_path, name, relays={"pairs": {"source": 2, "destination": 3}})
    account.cloud.wait_for(lambda: {node["state"] for node in account.nodes(name)} == {"JOINED"}, 60)
    machine = chaos.relay(account, name, lost)
    account.cloud.client("ec2", region).terminate_instances(InstanceIds=[machine])
    run = account.wait(arn)
    chaos.check_arrived(account, run, name, tmp_path / "set", tmp_path / "out")
    # The others serve whom it served; it gets a successor where that shortens the rest.
    told = {each["nodeId"]: each for each in run.report["replacements"]}
    assert told[lost]["cause"]
    assert told[lost].get("successor") or told[lost].get("notReplaced")


@only_full
def test_file_that_vanishes_is_named_and_all_else_arrives(account: Account, tmp_path: Path) -> None:
    """The large file vanishes while it is sent: it is left out by name, and all else is there."""
    name = "vanished"
    arn = start(account, tmp_path, name)
    chaos.moving(account, name, "direct")
    source = tmp_path / "set"
    before = tree(source)
    (source / "large.bin").unlink()
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "FilesSkipped")
    assert "large.bin" in str(run.cause)
    assert tree(tmp_path / "out") == {path: entry for path, entry in before.items() if path != b"large.bin"}
    chaos.check_nothing_left(account, name)
