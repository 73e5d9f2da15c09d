"""Events that nobody ever gets, by count: what they would have told is found by somebody's next look."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import account as chaos
from tests.chaos.extent import only_full
from tests.chaos.test_workflows import NARROW, TIMES, finish, lose_relays, start
from tests.e2e.account import HOME, Account
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture

OF_RELAYS = ["Relay Lost", "EC2 Instance State-change Notification", "EC2 Spot Instance Interruption Warning"]
OF_CHUNKS = ["Chunk Failed"]


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:  # noqa: F811
    """An account in which the reconciler looks every 10 s."""
    return make_account(scheduleMinuteSeconds=10.0, caps=NARROW)


def lose(account: Account, *kinds: str, times: int = TIMES) -> None:
    """The next events of each kind reach nobody."""
    for kind in kinds:
        chaos.spoil(account, "DeliverEvent", times, detailType=kind, code="Lost")


def lost(account: Account, name: str) -> list[dict[str, Any]]:
    return [node for node in account.nodes(name) if node["state"] == "LOST"]


@only_full
@pytest.mark.parametrize("kind", [*OF_CHUNKS, *OF_RELAYS])
def test_events_of_one_kind(account: Account, tmp_path: Path, kind: str) -> None:
    name = kind.replace(" ", "-")
    lose(account, kind)
    arn = start(account, tmp_path, name)
    lose_relays(account, name)
    finish(account, tmp_path, arn, name)


@only_full
def test_all_that_a_lost_relay_would_have_told(account: Account, tmp_path: Path) -> None:
    lose(account, *OF_CHUNKS, *OF_RELAYS)
    arn = start(account, tmp_path, "unheard")
    lose_relays(account, "unheard")
    finish(account, tmp_path, arn, "unheard")


@only_full
def test_end_of_an_instance_that_has_not_joined(account: Account, tmp_path: Path) -> None:
    lose(account, *OF_RELAYS[1:])
    chaos.spoil(account, "UpdateInstanceInformation", 1, regions=[HOME])  # one agent never registers

    def mute() -> list[dict[str, Any]]:
        nodes = account.nodes("unjoined")
        waiting = [node for node in nodes if node["state"] == "SPAWNED" and "runningAt" in node]
        return waiting if len(nodes) == 4 and len(waiting) == 1 else []

    arn = start(account, tmp_path, "unjoined")
    (dead,) = account.cloud.wait_for(mute, 60)
    account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[dead["instanceId"]])
    account.look_at("unjoined")
    nodes = account.cloud.wait_for(lambda: {n["nodeId"]: n for n in lost(account, "unjoined")}, 60)
    assert nodes[dead["nodeId"]]["reason"].startswith("its instance is ")
    finish(account, tmp_path, arn, "unjoined")


@only_full
def test_end_of_the_execution(account: Account, tmp_path: Path) -> None:
    lose(account, "Step Functions Execution Status Change")
    arn = start(account, tmp_path, "stopped")
    chaos.moving(account, "stopped", "pair-1", "pair-2")
    account.aws.client("stepfunctions").stop_execution(executionArn=arn)
    run = account.wait(arn)
    chaos.check_nothing_left(account, "stopped")
    report = account.wait(arn).report
    assert (run.status, report["status"], report["error"]) == ("ABORTED", "FAILED", "ExecutionGone")
    assert not any((tmp_path / "out").glob("[!.]*"))


# An end that has ended is taken for dead after half a minute, and started again up to three times.


@only_full
def test_the_end_of_the_data(account: Account, tmp_path: Path) -> None:
    lose(account, "Transfer Delivered", times=1)
    arn = start(account, tmp_path, "untold")
    finish(account, tmp_path, arn, "untold")
    assert "restarts" not in account.wait(arn).report  # the reconciler finds what the sender wrote


@only_full
def test_the_failure_of_an_end(account: Account, tmp_path: Path) -> None:
    """Somebody puts a file in the destination's place."""
    lose(account, "Transfer Failed", times=1)
    arn = start(account, tmp_path, "untold-failure")
    chaos.moving(account, "untold-failure", "direct")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    (tmp_path / "out").touch()
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "DestinationError"), run.cause
    chaos.check_nothing_left(account, "untold-failure")
