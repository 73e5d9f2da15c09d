"""A relay stays while its sender keeps it alive, and ends itself when nobody does. A minute of `shutdown` is a second.

The reconciler does not come meanwhile: what ends a relay is the relay.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.settings import configuration
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree

MINUTE_SECONDS = 0.8
LIFE = MINUTE_SECONDS * configuration()["relayTimeToLiveMinutes"]
RATE = 5e6  # of each path; two make LARGE take two lives
LARGE = int(2 * LIFE * 2 * RATE)


@pytest.fixture(scope="module")
def hurried(make_account: Callable[..., Account]) -> Account:
    made = make_account(
        caps={"interRegionMBps": RATE / 1e6, "intraRegionMBps": 160.0},
        shutdownMinuteSeconds=MINUTE_SECONDS,
        scheduleMinuteSeconds=3600,
    )
    # As many keepalives in a life as on AWS.
    made.configure("cpt-start-transfer", RELAY_TIME_TO_LIVE_SECONDS=str(LIFE))
    return made


def states(account: Account, region: str, instance_ids: set[str]) -> set[str]:
    """States of these instances."""
    answer = account.cloud.client("ec2", region).describe_instances(InstanceIds=sorted(instance_ids))
    return {item["State"]["Name"] for reservation in answer["Reservations"] for item in reservation["Instances"]}


def running(account: Account, name: str, region: str) -> set[str]:
    """Relays of a transfer that run there."""
    return {item["InstanceId"] for item in account.launched(name, region) if item["State"]["Name"] == "running"}


@only_full
def test_relays_that_data_flows_through_outlive_their_time_to_live(hurried: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    run = hurried.run(hurried.request(source, tmp_path / "out", relays={"pairs": 1}), "kept")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert run.report["seconds"]["transfer"] > 1.3 * LIFE
    # None was replaced.
    assert sorted(node["nodeId"] for node in hurried.nodes("kept")) == [
        "destination-1-0",
        "source-1-0",
    ]
    assert {node["state"] for node in hurried.nodes("kept")} == {"TERMINATED"}


def test_relay_that_no_command_ever_reaches_ends_itself(hurried: Account) -> None:
    launched = hurried.cloud.client("ec2", OTHER).run_instances(
        LaunchTemplate={"LaunchTemplateName": "cpt-relay"}, InstanceType="t3.small", MinCount=1, MaxCount=1
    )
    forgotten = {launched["Instances"][0]["InstanceId"]}
    hurried.cloud.wait_for(lambda: states(hurried, OTHER, forgotten) == {"running"}, 30)
    hurried.cloud.wait_for(lambda: states(hurried, OTHER, forgotten) == {"terminated"}, 6 * LIFE)


def test_relay_that_was_stopped_and_started_ends_itself(hurried: Account) -> None:
    ec2 = hurried.cloud.client("ec2", OTHER)
    launched = ec2.run_instances(
        LaunchTemplate={"LaunchTemplateName": "cpt-relay"}, InstanceType="t3.small", MinCount=1, MaxCount=1
    )
    again = {launched["Instances"][0]["InstanceId"]}
    hurried.cloud.wait_for(lambda: states(hurried, OTHER, again) == {"running"}, 30)
    scripts = hurried.cloud.state.instances.joinpath(*again) / "per-boot"
    hurried.cloud.wait_for(lambda: any(script.stat().st_mode & 0o100 for script in scripts.iterdir()), LIFE)
    ec2.stop_instances(InstanceIds=[*again])
    hurried.cloud.wait_for(lambda: states(hurried, OTHER, again) == {"stopped"}, 30)
    ec2.start_instances(InstanceIds=[*again])
    hurried.cloud.wait_for(lambda: states(hurried, OTHER, again) == {"running"}, 30)
    hurried.cloud.wait_for(lambda: states(hurried, OTHER, again) == {"terminated"}, 6 * LIFE)


def test_relays_whose_sender_died_end_themselves(hurried: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = hurried.start(hurried.request(source, tmp_path / "out", relays={"pairs": 1}), "orphans")
    # On a busy machine a relay may be late with twelve seconds of life, and be replaced.
    hurried.cloud.wait_for(lambda: [node["state"] for node in hurried.nodes("orphans")].count("JOINED") == 2, 60)
    hurried.shell(hurried.source, HOME, "systemctl stop 'cpt-send-*'")
    orphans = {at: running(hurried, "orphans", at) for at in (HOME, OTHER)}
    assert all(orphans.values())
    hurried.cloud.wait_for(
        lambda: all(states(hurried, at, ids) == {"terminated"} for at, ids in orphans.items()), 6 * LIFE
    )
    hurried.aws.client("stepfunctions").stop_execution(executionArn=arn, error="User", cause="seen enough")
    hurried.wait(arn)
