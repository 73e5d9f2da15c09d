"""EC2 and SSM refuse in every way that they have: relays come from elsewhere, are fewer, or none; the data arrives."""

import re
from pathlib import Path
from typing import Any

import pytest

from cli.settings import configuration
from local.config import Fault
from tests.chaos.extent import cases, only_full
from tests.e2e.account import HOME, LARGE, OTHER, SLOW_MBPS, Account, Run
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import paths_with_data

TYPES = len(configuration()["instanceTypes"])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What tests move through relays."""
    return make_files(tmp_path_factory.mktemp("faults") / "set", large_bytes=LARGE)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What tests move that have no relays to wait for."""
    return make_files(tmp_path_factory.mktemp("few") / "set")


def transfer(
    account: Account,
    files: Path,
    name: str,
    faults: list[dict[str, Any]],
    pairs: int = 1,
    joins: bool = False,
    **relays: Any,
) -> Run:
    """A run with faults that are counted from now on: it succeeds, all has arrived, and nothing is left running.

    `joins`: it is slow until a pair carries something, however late that comes.
    """
    for fault in faults:
        account.cloud.spoil(Fault.model_validate({"region": HOME, **fault}))
    out = files.parent / name
    slow = {"chunkSizeMiB": 1, "bandwidthLimitMbps": SLOW_MBPS} if joins else {}
    arn = account.start(account.request(files, out, relays={"pairs": pairs, **relays}, **slow), name)
    if joins:
        account.cloud.wait_for(lambda: any(path.startswith("pair-") for path in paths_with_data(account, name)), 90)
        account.limit(name, None)
    run = account.wait(arn)
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert tree(out / "set") == tree(files)
    for region in (HOME, OTHER):
        left = {relay["State"]["Name"] for relay in account.launched(name, region)}
        assert left <= {"terminated", "shutting-down"}
        assert account.rules(name, region) == []
    return run


def zones(account: Account, name: str) -> set[tuple[str, str]]:
    """Side and zone of each relay."""
    return {(node["role"], node["availabilityZone"]) for node in account.nodes(name)}


def test_another_zone_is_used_where_the_own_one_has_no_capacity(account: Account, files: Path) -> None:
    run = transfer(account, files, "other-zone", [{"zone": f"{HOME}a", "count": TYPES}], joins=True)
    assert zones(account, "other-zone") == {("source", f"{HOME}b"), ("destination", f"{OTHER}a")}
    fleet = run.report["fleet"]
    assert (fleet["wanted"], fleet["launched"], fleet["otherZones"], run.report["pairs"]) == (1, 1, 1, 1)
    (note,) = fleet["notes"]
    assert note.startswith(f"EC2 has too little capacity in {HOME}a for ")
    assert all(kind in note for kind in configuration()["instanceTypes"])
    assert run.report["cost"]["crossZone"] > 0
    (start,) = (start for start in fleet["starts"] if start["nodeId"] == "source-1-0")
    assert start["launch"] + start["agent"] + start["daemon"] > 1  # boot


def test_without_capacity_in_any_zone_all_goes_on_the_direct_path(account: Account, few: Path) -> None:
    run = transfer(account, few, "no-capacity", [{"count": 2 * TYPES}])
    assert (run.report["pairs"], run.report["fleet"]["launched"]) == (0, 0)
    (note,) = run.report["fleet"]["notes"]
    assert note.startswith(f"NoCapacity: no source relay in {HOME}: EC2 has too little capacity in {HOME}a")
    assert "Go On Without Relays" in account.history(run.arn)


@only_full
def test_spot_relays_are_on_demand_where_there_is_no_spot(account: Account, files: Path) -> None:
    run = transfer(account, files, "no-spot", [{"market": "spot", "count": TYPES}], joins=True, market="spot")
    assert {node["role"]: node["market"] for node in account.nodes("no-spot")} == {
        "source": "on-demand",
        "destination": "spot",
    }
    assert (run.report["fleet"]["onDemand"], run.report["fleet"]["spot"], run.report["pairs"]) == (1, 1, 1)
    assert "on demand" not in run.report["estimate"]["reason"]


@only_full
def test_an_account_without_the_role_for_spot_has_relays_and_an_estimate_on_demand(
    account: Account, files: Path
) -> None:
    iam = account.aws.client("iam")
    iam.delete_service_linked_role(RoleName="AWSServiceRoleForEC2Spot")
    try:
        run = transfer(account, files, "no-spot-role", [], market="spot")
    finally:
        iam.create_service_linked_role(AWSServiceName="spot.amazonaws.com")
    told = "the account has no service-linked role for spot: run aws iam create-service-linked-role"
    assert f"relays are on demand: {told}" in run.report["estimate"]["reason"]
    assert {node["market"] for node in account.nodes("no-spot-role")} == {"on-demand"}
    assert any(note.startswith(told) for note in run.report["fleet"]["notes"])


@only_full
def test_quota_gives_fewer_pairs_and_the_report_says_so(account: Account, files: Path) -> None:
    # two at once are refused, one is launched, one more is refused
    refusals: list[dict[str, Any]] = [{"code": "VcpuLimitExceeded"}, {"code": "VcpuLimitExceeded", "after": 2}]
    run = transfer(account, files, "quota", refusals, pairs=2, joins=True)
    assert (run.report["fleet"]["launched"], run.report["pairs"]) == (1, 1)
    assert run.report["fleet"]["notes"] == [f"the quota of vCPUs in {HOME} allowed 1 of 2 relays"]


@only_full
def test_throttled_launch_waits_outside_of_its_function_and_comes_again(account: Account, files: Path) -> None:
    # The sixth refusal in a row is waited for longer than a function waits.
    run = transfer(account, files, "throttled", [{"code": "RequestLimitExceeded", "count": 6}], joins=True)
    assert (run.report["pairs"], run.report["fleet"]["notes"]) == (1, [])
    assert "Wait for Its Turn" in account.history(run.arn)
    assert len(account.launched("throttled", OTHER)) == 1  # the other side was launched once


@pytest.mark.parametrize(
    ("code", "words"),
    cases(
        [
            (
                "InvalidAMIID.NotFound",
                "LaunchRefused: .*the relays' image is gone; deploy the stack of this region again",
            ),
            ("UnauthorizedOperation", f"MissingPermission: ec2:RunInstances in {HOME}"),
        ],
        [("UnauthorizedOperation", f"MissingPermission: ec2:RunInstances in {HOME}")],
    ),
)
def test_refused_launch_leaves_the_direct_path_and_says_what_to_do(
    account: Account, few: Path, code: str, words: str
) -> None:
    name = code.split(".")[0]
    run = transfer(account, few, name, [{"code": code}])
    assert run.report["pairs"] == 0
    (note,) = run.report["fleet"]["notes"]
    assert re.match(words, note)


@only_full
def test_relay_whose_agent_never_answers_is_left_and_the_others_join(account: Account, files: Path) -> None:
    run = transfer(account, files, "mute", [{"operation": "UpdateInstanceInformation"}], pairs=2, joins=True)
    assert (run.report["fleet"]["launched"], run.report["pairs"]) == (2, 1)
    mute = [start for start in run.report["fleet"]["starts"] if "agent" not in start]
    assert len(mute) == 1


@pytest.mark.parametrize("code", cases(["DeliveryTimedOut", "Undeliverable"], ["DeliveryTimedOut"]))
def test_relay_whose_agent_did_not_start_the_command_is_sent_it_again(account: Account, files: Path, code: str) -> None:
    fault = {"operation": "SendCommand", "document": "cpt-relay", "code": code}
    name = code.lower()
    run = transfer(account, files, name, [fault], joins=True)
    assert (run.report["fleet"]["launched"], run.report["pairs"]) == (1, 1)
    assert not [node for node in account.nodes(name) if node["state"] == "LOST"]


@only_full
def test_relay_whose_command_times_out_is_dropped_with_its_partner(account: Account, files: Path) -> None:
    fault = {"operation": "SendCommand", "document": "cpt-relay", "code": "TimedOut"}
    run = transfer(account, files, "command", [fault], pairs=2, joins=True)
    assert (run.report["fleet"]["launched"], run.report["pairs"]) == (2, 1)
    reasons = {node["reason"] for node in account.nodes("command") if node["state"] == "LOST"}
    assert any(reason.startswith("cpt-relay did not start (Execution Timed Out)") for reason in reasons)
