"""`cpt start`, `watch`, `list`, `cancel` and `report` against a running deployment, as people and scripts do."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

from cli.exit_codes import ExitCode
from cli.main import app
from tests.e2e.account import HOME, LARGE, OTHER, SLOW_MBPS, Account
from tests.e2e.files import make_files, tree
from tests.e2e.wire import wire

EVENTS = Draft202012Validator(json.loads(Path("contracts/watch-event.schema.json").read_text()))


@pytest.fixture(autouse=True)
def _environment(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the README has it for any AWS client."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def cpt(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def request_file(account: Account, work: Path, large_bytes: int, **more: Any) -> Path:
    source = make_files(work / "set", large_bytes=large_bytes)
    path = work / "request.json"
    path.write_text(json.dumps(account.request(source, work / "out", **more)))
    return path


def test_start_and_watch_streams_events_up_to_the_report(account: Account, tmp_path: Path) -> None:
    called = {"label": "Moves of May (2nd)", "tags": {"cost centre": "4711"}}
    request = request_file(account, tmp_path, LARGE, relays={"pairs": 1}, bandwidthLimitMbps=SLOW_MBPS, **called)
    with ThreadPoolExecutor(1) as beside:
        lifted = beside.submit(account.lift_once_joined, "streamed", 1)
        result = cpt("start", request, "--name", "streamed", "--watch", "--json")
    lifted.result()
    assert result.exit_code == ExitCode.SUCCEEDED, result.output
    started, *events = lines(result)
    assert started["name"] == "streamed"
    for event in events:
        EVENTS.validate(event)
    kinds = [event["type"] for event in events]
    for kind in ("Stage Entered", "Estimated", "Relay Launched", "Relay Joined", "Progress", "Relay Left"):
        assert kind in kinds
    assert kinds[-1] == "Transfer Ended"
    assert events[-1]["report"]["verified"]
    assert {key: events[-1]["report"]["request"][key] for key in called} == called
    assert tree(tmp_path / "out" / "set") == tree(tmp_path / "set")

    *entries, end = lines(cpt("report", "streamed", "--entries"))
    assert {(entry["outcome"], entry["proof"]) for entry in entries} == {("sent", "digest")}
    assert end == {"end": True, "entries": len(entries), "complete": True}
    assert cpt("report", "streamed", "--failed", "-0").stdout == ""

    # Whoever comes back later is told all of it again.
    later = lines(cpt("watch", "streamed", "--json"))
    joined = [event for event in events if event["type"].startswith("Relay")]
    assert [event for event in later if event["type"].startswith("Relay")] == sorted(joined, key=lambda e: e["at"])

    plain = cpt("watch", "streamed")
    assert plain.exit_code == ExitCode.SUCCEEDED
    assert "relay source-1-0 joined" in plain.stdout
    assert "SUCCEEDED: streamed" in plain.stdout


def test_a_name_serves_once(account: Account, tmp_path: Path) -> None:
    request = request_file(account, tmp_path, 1000, relays={"pairs": 0})
    assert cpt("start", request, "--name", "once", "--watch").exit_code == ExitCode.SUCCEEDED
    again = cpt("start", request, "--name", "once")
    assert again.exit_code == ExitCode.REQUEST
    assert "choose another with --name" in again.stderr


def test_cancel_ends_it_and_list_shows_it_before_and_after(account: Account, tmp_path: Path) -> None:
    request = request_file(account, tmp_path, LARGE, relays={"pairs": 1}, bandwidthLimitMbps=SLOW_MBPS)
    assert cpt("start", request, "--name", "unwanted").exit_code == 0
    account.cloud.wait_for(lambda: account.progress("unwanted").get("firstByteAt"), 60)
    running = lines(cpt("list", "--status", "running", "--json"))
    assert [(entry["name"], entry["status"]) for entry in running] == [("unwanted", "RUNNING")]
    assert running[0]["totalBytes"] > LARGE
    assert "unwanted" in cpt("list").stdout

    cancelled = cpt("cancel", "unwanted", "--reason", "wrong directory", "--json")
    assert json.loads(cancelled.stdout) == {"name": "unwanted", "cancelled": True, "status": "ABORTED"}
    arn = account.machine.replace(":stateMachine:", ":execution:") + ":unwanted"
    assert account.describe(arn)["cause"] == "wrong directory"
    account.cloud.wait_for(
        lambda: (record := account.record("unwanted", "transfer")) and record["status"] == "FAILED", 90
    )
    told = cpt("report", "unwanted", "--json")
    assert told.exit_code == ExitCode.STOPPED
    assert json.loads(told.stdout)["cause"] == "the execution ended as ABORTED (Cancelled): wrong directory"
    assert json.loads(told.stdout)["request"]["destination"]["path"] == str(tmp_path / "out")
    assert not account.rules("unwanted", HOME) + account.rules("unwanted", OTHER)

    twice = cpt("cancel", "unwanted")
    assert twice.exit_code == 0
    assert "has ended already (ABORTED)" in twice.stdout


def test_limit_changes_what_a_transfer_may_send(account: Account, tmp_path: Path) -> None:
    # As the request has it, it would take ten minutes.
    request = request_file(account, tmp_path, 75_000_000, relays={"pairs": 0}, bandwidthLimitMbps=1)
    assert cpt("start", request, "--name", "limited").exit_code == 0
    account.cloud.wait_for(lambda: account.progress("limited").get("firstByteAt"), 60)
    set_ = cpt("limit", "limited", "--mbps", "2", "--json")
    assert json.loads(set_.stdout) == {"transferId": "limited", "bandwidthLimitMbps": 2}
    assert account.progress("limited")["bytes"] < 75_000_000
    assert "as much as it can" in cpt("limit", "limited", "--mbps", "none").stdout
    watched = lines(cpt("watch", "limited", "--json"))
    assert [event.get("bandwidthLimitMbps") for event in watched if event["type"] == "Limit Changed"] == [2, None]
    report = watched[-1]["report"]
    assert [change.get("bandwidthLimitMbps") for change in report["course"]["limits"]] == [2, None]
    assert "2 Mbit/s (0.25 MB/s)" in cpt("report", "limited").stdout
    assert tree(tmp_path / "out" / "set") == tree(tmp_path / "set")
    late = cpt("limit", "limited", "--mbps", "2")
    assert late.exit_code == ExitCode.REQUEST
    assert "'limited' is over" in late.stderr


def test_watch_streams_and_survives_a_laptop_that_is_closed_and_finds_no_network_at_first(
    account: Account, tmp_path: Path
) -> None:
    # As the request has it, it would take ten minutes: it ends when the limit is lifted.
    request = request_file(account, tmp_path, 75_000_000, relays={"pairs": 0}, bandwidthLimitMbps=1)
    assert cpt("start", request, "--name", "laptop").exit_code == 0
    arn = account.machine.replace(":stateMachine:", ":execution:") + ":laptop"
    account.cloud.wait_for(lambda: account.progress("laptop").get("firstByteAt"), 60)
    with wire(account.cloud.endpoint) as network:
        command = [sys.executable, "-m", "cli.main", "watch", "laptop", "--json"]
        environment = {**os.environ, "AWS_ENDPOINT_URL": network.url}
        with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=environment) as watching:
            assert watching.stdout is not None
            assert watching.stderr is not None
            events: list[dict[str, Any]] = []
            while not events or events[-1]["type"] != "Progress":
                events.append(json.loads(watching.stdout.readline()))
            assert account.describe(arn)["status"] == "RUNNING"

            watching.send_signal(signal.SIGSTOP)
            network.cut()
            assert cpt("limit", "laptop", "--mbps", "none").exit_code == 0
            assert account.wait(arn).status == "SUCCEEDED"
            watching.send_signal(signal.SIGCONT)
            assert "AWS does not answer" in watching.stderr.readline()
            network.mend()
            rest = watching.stdout.read()
    assert watching.returncode == ExitCode.SUCCEEDED
    events += [json.loads(line) for line in rest.splitlines()]
    for event in events:
        EVENTS.validate(event)
    stages = [event["stage"] for event in events if event["type"] == "Stage Entered"]
    assert sorted(set(stages)) == sorted(stages)
    assert "Limit Changed" in [event["type"] for event in events]
    assert (events[-1]["type"], events[-1]["status"]) == ("Transfer Ended", "SUCCEEDED")


@pytest.mark.parametrize("command", ["watch", "cancel", "report"])
def test_a_name_that_nothing_has_is_told(command: str) -> None:
    result = cpt(command, "nobody")
    assert result.exit_code == ExitCode.REQUEST
    assert "there is no transfer 'nobody'" in result.stderr
