"""However a transfer ends, nothing of it is left running, and the destination is free again."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from cli.exit_codes import ExitCode
from cli.main import app
from local.config import Fault
from tests.chaos.extent import cases, only_full
from tests.e2e.account import HOME, LARGE, OTHER, SLOW_MBPS, Account
from tests.e2e.files import make_files, tree
from tools.data_flow import tasks

LOOKS = 5
# Only where a person is asked (test_approval.py), where a listing takes long (test_listing.py), where little is known
# of the machines (test_first_contact.py), where something is removed (test_mirror.py), or where nothing is moved but
# measured (test_profile.py).
MEASURING = (
    "Resolve Measured Paths",
    "Survey Measured Ends",
    "Estimate Measuring",
    "Await Measuring Approval",
    "Apply Measuring Approval",
    "Plan Measuring",
    "Start Sender",
    "Spawn Measured Relays",
    "Await Measured Relays",
    "Measure Relays",
)
RARE = {
    "Await Approval",
    "Apply Approval",
    "Open Plan",
    "Extend Plan",
    "Finish Survey",
    "Decide Relays",
    "Make Way",
    "Delete Extras",
    *MEASURING,
}
STATES = [
    name for name in tasks(json.loads(Path("statemachine/transfer.asl.json").read_text())["States"]) if name not in RARE
]

# While all is taken down; other tests here stop what launches relays, and what moves data.
SHORT = ["Tear Down"]


def begin(account: Account, work: Path, name: str, **more: Any) -> str:
    """A slow transfer through a pair, under way; its execution."""
    source = make_files(work / "set", large_bytes=LARGE)
    request = account.request(source, work / "out", relays={"pairs": 1}, bandwidthLimitMbps=SLOW_MBPS, **more)
    return account.start(request, name)


def stop(account: Account, arn: str) -> None:
    account.aws.client("stepfunctions").stop_execution(executionArn=arn, error="User", cause="changed my mind")


def joined(account: Account, name: str) -> bool:
    """Whether both sides have a relay that has joined: on a busy machine one of them may be a successor."""
    return {node["role"] for node in account.nodes(name) if node["state"] == "JOINED"} == {"source", "destination"}


def report(account: Account, name: str) -> dict[str, Any]:
    found = account.aws.client("s3").get_object(Bucket=account.bucket, Key=f"transfers/{name}/report.json")
    return dict(json.loads(found["Body"].read()))


def nothing_left(account: Account, name: str) -> None:
    """The rule takes down what there is; what a function leaves that was still at work, the minute's looks do."""
    for _ in range(LOOKS):
        with suppress(TimeoutError):
            account.cloud.wait_for(lambda: not account.left(name), 15)
        account.invoke("cpt-watch-transfers")
        if not account.left(name):
            return
    assert account.left(name) == {}, account.record(name, "transfer")


@pytest.mark.parametrize("state", cases(STATES, SHORT))
def test_stopped_from_any_state_on(account: Account, tmp_path: Path, state: str) -> None:
    account.configure("cpt-pre-test-relays", PRE_TEST_SECONDS="1")
    late = state in ("Release Relays", "Verify Transfer", "Tear Down", "Write Report")
    source = make_files(tmp_path / "set", large_bytes=20_000_000 if late else LARGE)
    name = f"stopped-{state.replace(' ', '-')}"
    slow = {} if late else {"bandwidthLimitMbps": SLOW_MBPS}
    arn = account.start(account.request(source, tmp_path / "out", relays={"pairs": 1}, preTest=True, **slow), name)
    account.entered(arn, state)
    try:
        stop(account, arn)
    except ClientError:
        assert state == "Write Report", "only after the last state it may be over by now"
    nothing_left(account, name)
    arrived = tmp_path / "out" / "set"
    assert not arrived.exists() or (late and tree(arrived) == tree(source))


def test_stopped_while_data_moves_and_the_destination_is_free_for_the_next(account: Account, tmp_path: Path) -> None:
    arn = begin(account, tmp_path, "stopped-moving")
    account.cloud.wait_for(lambda: joined(account, "stopped-moving"), 90)
    stop(account, arn)
    nothing_left(account, "stopped-moving")
    assert not (tmp_path / "out" / "set").exists()  # nothing under its final name before the directory is whole
    assert report(account, "stopped-moving")["status"] == "FAILED"
    again = account.run(account.request(tmp_path / "set", tmp_path / "out", relays={"pairs": 2}), "stopped-again")
    assert (again.status, again.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(tmp_path / "set")


def test_stopped_while_the_relays_are_still_being_launched(account: Account, tmp_path: Path) -> None:
    late = Fault(operation="RunInstances", region=HOME, delay_seconds=8)
    account.cloud.spoil(late)
    arn = begin(account, tmp_path, "launched-late")
    account.cloud.wait_for(lambda: account.cloud.has_delayed("RunInstances", HOME), 60)
    stop(account, arn)
    account.cloud.wait_for(lambda: account.launched("launched-late", HOME), 60)
    nothing_left(account, "launched-late")


def test_a_machine_that_cannot_be_told_sees_the_fence_by_itself(account: Account, tmp_path: Path) -> None:
    arn = begin(account, tmp_path, "deaf")
    account.cloud.wait_for(lambda: joined(account, "deaf"), 90)
    for region in (HOME, OTHER):
        account.cloud.spoil(
            Fault(operation="SendCommand", region=region, document="cpt-stop", code="InvalidInstanceId", count=2)
        )
    stop(account, arn)
    nothing_left(account, "deaf")
    assert (account.record("deaf", "transfer") or {})["teardown"]["stopped"] == 0


@pytest.fixture(scope="module")
def spoilt(make_account: Callable[..., Account]) -> Account:
    """An account whose state machine may be changed, and is gone in the end."""
    return make_account()


def test_execution_that_takes_too_long(spoilt: Account, tmp_path: Path) -> None:
    states = spoilt.aws.client("stepfunctions")
    definition = json.loads(states.describe_state_machine(stateMachineArn=spoilt.machine)["definition"])
    states.update_state_machine(
        stateMachineArn=spoilt.machine, definition=json.dumps({**definition, "TimeoutSeconds": 6})
    )
    arn = begin(spoilt, tmp_path, "too-long")
    spoilt.cloud.wait_for(lambda: spoilt.describe(arn)["status"] == "TIMED_OUT", 30)
    states.update_state_machine(stateMachineArn=spoilt.machine, definition=json.dumps(definition))
    nothing_left(spoilt, "too-long")
    assert report(spoilt, "too-long")["error"] == "ExecutionTimedOut"


@only_full
def test_execution_whose_state_machine_is_deleted(spoilt: Account, tmp_path: Path) -> None:
    begin(spoilt, tmp_path, "machine-deleted")
    spoilt.cloud.wait_for(lambda: joined(spoilt, "machine-deleted"), 90)
    spoilt.aws.client("stepfunctions").delete_state_machine(stateMachineArn=spoilt.machine)
    spoilt.change_record("machine-deleted", "executionStartedAt", 0)  # for two minutes it might be too new to be known
    spoilt.look_at("machine-deleted")
    nothing_left(spoilt, "machine-deleted")
    assert report(spoilt, "machine-deleted")["error"] == "ExecutionGone"


def teardown(account: Account, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    return CliRunner().invoke(app, ["teardown", *words])


def test_by_hand_with_consent_and_again(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(account, tmp_path, "by-hand")
    account.cloud.wait_for(lambda: joined(account, "by-hand"), 90)
    refused = teardown(account, monkeypatch, "by-hand")
    assert refused.exit_code == ExitCode.REQUEST
    assert "still runs" in refused.stderr
    assert "--yes" in refused.stderr
    assert joined(account, "by-hand")
    done = teardown(account, monkeypatch, "by-hand", "--yes", "--json")
    assert done.exit_code == ExitCode.SUCCEEDED, done.stderr
    assert json.loads(done.stdout)["execution"] == "stopped"
    nothing_left(account, "by-hand")
    again = teardown(account, monkeypatch, "by-hand")
    assert again.exit_code == ExitCode.SUCCEEDED
    assert "0 relays terminated" in again.stdout
    assert teardown(account, monkeypatch, "nobody").exit_code == ExitCode.REQUEST
