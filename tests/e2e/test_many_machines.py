"""Several machines at an end: all send, all receive, and any of them may go."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.exit_codes import ExitCode
from tests.chaos.extent import cases, only_full
from tests.e2e.account import END_TYPE, HOME, LARGE, OTHER, Account, Run
from tests.e2e.files import make_files, tree
from tests.e2e.people import having, refused

MOVING_MBPS = 80
"""Of the whole transfer: 10 MB/s, so that the large file takes ten seconds."""


class Machines:
    """Two machines at each end; the two sides see the same directories."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.senders = [account.source, account.cloud.launch_vm(HOME, "another source", END_TYPE)]
        self.receivers = [account.destination, account.cloud.launch_vm(OTHER, "another destination", END_TYPE)]

    def request(self, source: Path, destination: Path, **more: Any) -> dict[str, Any]:
        """All of them."""
        return {
            "source": {"instanceIds": self.senders, "region": HOME, "paths": [str(source)]},
            "destination": {"instanceIds": self.receivers, "region": OTHER, "path": str(destination)},
            "relays": {"pairs": 0},
            "chunkSizeMiB": 4,
            "preTest": False,
            **more,
        }

    def reported_bytes(self, name: str, seat_id: str) -> int:
        """What a seat says that it has delivered."""
        record = self.account.record(name, f"progress#{seat_id}") or {}
        return int(json.loads(str(record.get("document", "{}"))).get("bytes", 0))


@pytest.fixture(scope="module")
def own_account(make_account: Callable[..., Account]) -> Account:
    """Of these tests alone: some of its machines do not survive."""
    return make_account()


def assert_arrived(run: Run, source: Path, destination: Path) -> None:
    """Whole and verified, and nothing of ours is left."""
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert tree(destination / source.name) == tree(source)
    assert [path.name for path in destination.iterdir()] == [source.name]
    assert run.report["verified"]


def test_two_machines_at_each_end_send_and_receive_one_tree(own_account: Account, tmp_path: Path) -> None:
    machines, source = Machines(own_account), make_files(tmp_path / "set", large_bytes=LARGE)
    run = own_account.run(machines.request(source, tmp_path / "out", bandwidthLimitMbps=MOVING_MBPS), "two-by-two")
    assert_arrived(run, source, tmp_path / "out")
    seats = {seat["seatId"]: seat for seat in run.report["seats"]}
    assert set(seats) == {"s0", "s1", "r0", "r1"}
    assert all(seat["bytes"] > LARGE // 10 for seat in seats.values()), "each has carried its part"


@pytest.mark.parametrize("seat", cases(["s1", "r1"], ["s1"]))
def test_a_machine_that_ends_while_it_moves_data_costs_no_file(own_account: Account, tmp_path: Path, seat: str) -> None:
    machines, name = Machines(own_account), f"without-{seat}"
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = own_account.start(machines.request(source, tmp_path / "out", bandwidthLimitMbps=MOVING_MBPS // 2), name)
    own_account.cloud.wait_for(lambda: machines.reported_bytes(name, seat) > 0, 90)
    lost, region = (machines.senders[1], HOME) if seat == "s1" else (machines.receivers[1], OTHER)
    own_account.cloud.client("ec2", region).terminate_instances(InstanceIds=[lost])
    assert_arrived(own_account.wait(arn), source, tmp_path / "out")


@only_full
def test_machines_that_are_drained_are_given_back_while_the_others_bring_all(
    own_account: Account, tmp_path: Path
) -> None:
    machines, name = Machines(own_account), "drained"
    reader, starter = having(own_account, "reader"), having(own_account, "starter")
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = own_account.start(machines.request(source, tmp_path / "out", bandwidthLimitMbps=MOVING_MBPS // 2), name)
    own_account.cloud.wait_for(lambda: machines.reported_bytes(name, "r1") > 0, 90)
    first, last = machines.receivers[1], machines.receivers[0]
    refused(reader.cpt("seats", "drain", name, first))
    for machine in (machines.senders[1], first):
        done = starter.cpt("seats", "drain", name, machine, "--reason", "its host is retired", "--json")
        assert (done.exit_code, json.loads(done.stdout)["changed"]) == (ExitCode.SUCCEEDED, True), done.output
    again = starter.cpt("seats", "drain", name, first, "--json")
    assert not json.loads(again.stdout)["changed"]
    left = starter.cpt("seats", "drain", name, last)
    assert (left.exit_code, "is the last machine" in left.output) == (ExitCode.REQUEST, True), left.output

    def states() -> dict[str, str]:
        listed = reader.cpt("seats", "list", name, "--json").stdout.splitlines()
        return {seat["seatId"]: seat["state"] for seat in map(json.loads, listed)}

    own_account.cloud.wait_for(
        lambda: states() == {"s0": "working", "s1": "drained", "r0": "working", "r1": "drained"}, 60
    )
    assert own_account.describe(arn)["status"] == "RUNNING"
    own_account.cloud.client("ec2", OTHER).terminate_instances(InstanceIds=[first])
    run = own_account.wait(arn)
    assert_arrived(run, source, tmp_path / "out")
    drained = {seat["seatId"]: seat["retiredBecause"] for seat in run.report["seats"] if seat.get("drained")}
    assert drained == dict.fromkeys(("s1", "r1"), "its host is retired")


@pytest.mark.parametrize("machines", [1, 2])
def test_a_machine_that_says_that_it_cannot_go_on_ends_the_transfer_only_where_it_is_alone(
    own_account: Account, tmp_path: Path, machines: int
) -> None:
    ends, name = Machines(own_account), f"no-key-{machines}"
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    request = ends.request(source, tmp_path / "out", bandwidthLimitMbps=MOVING_MBPS // 2)
    if machines == 1:
        request["source"] = {"instanceId": ends.senders[0], "region": HOME, "paths": [str(source)]}
    arn = own_account.start(request, name)
    seat_id, machine = f"s{machines - 1}", ends.senders[machines - 1]
    own_account.cloud.wait_for(lambda: ends.reported_bytes(name, seat_id) > 0, 90)
    spoilt = f'echo none >"$CPT_HOME/run/{name}/send.key"'
    own_account.shell(machine, HOME, f"{spoilt}; systemctl kill --signal=KILL cpt-send-{name}")
    run = own_account.wait(arn)
    if machines == 1:
        assert (run.status, run.error) == ("FAILED", "NoKey")
        return
    assert_arrived(run, source, tmp_path / "out")
    (told,) = [seat for seat in run.report["seats"] if "retiredAt" in seat]
    assert told["seatId"] == "s1"
    assert told["retiredBecause"].startswith("NoKey: sender: ")
