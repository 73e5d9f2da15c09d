"""What a transfer is not to feel: EC2 of a region that hangs, an index that is behind, an end that writes nonsense."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.account import spoil
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import begin, finish, states_of

# Longer than any client waits, and for more calls than there are while it is asked.
HANGS = {"delaySeconds": 65.0}
MANY = 1000
TICK_SECONDS = 5.0


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:
    """An account in which a minute of the schedules takes five seconds."""
    return make_account(scheduleMinuteSeconds=TICK_SECONDS)


def beat(account: Account, name: str) -> int:
    """The sender's sequence with which the last heartbeat was sent."""
    seats: dict[str, Any] = ((account.record(name, "transfer") or {}).get("seats") or {}).get("seats") or {}
    return int((seats.get("s0") or {}).get("beat") or 0)


def beaten_since(account: Account, name: str, sequence: int) -> Callable[[], bool]:
    """Whether another heartbeat was sent, as a question to wait for."""
    return lambda: beat(account, name) > sequence


@only_full
def test_relays_of_a_transfer_that_the_index_does_not_show_go_on(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = begin(account, source, tmp_path / "out", "behind")
    before = account.cloud.live_relays()
    spoil(account, "QueryIndex", 20, regions=[HOME], table="cpt-transfers", code="Behind")
    for _ in range(3):
        account.invoke("cpt-watch-transfers")
    assert account.cloud.live_relays() == before
    run = finish(account, arn, "behind")
    assert (run.status, run.report["replacements"]) == ("SUCCEEDED", [])
    assert tree(tmp_path / "out" / "set") == tree(source)


@only_full
def test_an_end_that_writes_nonsense_costs_no_other_transfer_its_heartbeats(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    poisoned = begin(account, source, tmp_path / "out", "a-poisoned")
    healthy = begin(account, source, tmp_path / "out-too", "b-healthy")
    account.shell(account.source, HOME, "systemctl stop cpt-send-a-poisoned")
    key = {"transferId": account.shared("a-poisoned"), "record": "progress#s0"}
    account.aws.resource("dynamodb").Table("cpt-transfers").update_item(
        Key=key, UpdateExpression="SET document = :nonsense", ExpressionAttributeValues={":nonsense": '{"nonsense": 1}'}
    )
    before = beat(account, "b-healthy")
    for function in ("cpt-watch-ends", "cpt-watch-relays"):
        account.invoke(function)
    assert beat(account, "b-healthy") > before
    account.aws.client("stepfunctions").stop_execution(executionArn=poisoned)
    assert finish(account, healthy, "b-healthy").status == "SUCCEEDED"


@only_full
def test_heartbeats_go_on_though_ec2_of_a_region_hangs(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = begin(account, source, tmp_path / "out", "hanging")
    spoil(account, "DescribeInstances", MANY, regions=[OTHER], **HANGS)
    account.cloud.wait_for(lambda: account.cloud.has_delayed("DescribeInstances", OTHER), 60)
    # Of each of these looks only one could have waited for EC2 within this time.
    for _ in range(3):
        account.cloud.wait_for(beaten_since(account, "hanging", beat(account, "hanging")), 6 * TICK_SECONDS)
    assert account.describe(arn)["status"] == "RUNNING"
    assert set(states_of(account, "hanging").values()) == {"JOINED"}
    account.aws.client("stepfunctions").stop_execution(executionArn=arn)
