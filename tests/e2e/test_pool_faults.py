"""What becomes of transfers on a pool that is broken: all of them arrive, and nothing is left."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lambdas.core.transfer.partition import machine_arn
from lambdas.operations.fleet.providers.pool import LEASE_SECONDS
from local.cloud import LocalCloud
from local.config import LocalConfig
from local.instances.process import marked
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.files import make_files, tree
from tests.e2e.standing_pool import Pool

FOUR_LEASES = {"min": 1, "max": 1, "instanceType": "c6in.large", "leasesPerNode": 4}
VISITS = 50


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    work = tmp_path_factory.mktemp("pool-faults")
    caps = {"interRegionMBps": 20.0, "intraRegionMBps": 160.0}
    config = {"port": 0, "bootSeconds": 1.0, "caps": caps, "pollSeconds": 0.2, "spotGraceSeconds": 3}
    templates = synthesized(work / "assembly", (HOME, OTHER), pool={HOME: FOUR_LEASES, OTHER: FOUR_LEASES})
    with LocalCloud(LocalConfig.model_validate(config), work / "state", templates) as cloud:
        pool = Pool(Account(cloud, work), templates)
        pool.await_free()
        yield pool


class Users:
    """Transfers through the pool that move slowly until they are let go."""

    def __init__(self, pool: Pool, folder: Path, names: list[str], use: str = "only") -> None:
        self._account, self._folder, self.names = pool.account, folder, names
        self._source = make_files(folder / "set", large_bytes=LARGE)
        relays = {"pairs": 1, "pool": use}
        requests = {name: self._account.request(self._source, folder / name, relays=relays) for name in names}
        self._arns = [self._account.start_slowly(request, name) for name, request in requests.items()]

    def await_joined(self) -> None:
        """Until both relays of each take part."""
        for name in self.names:
            self._account.cloud.wait_for(partial(self.has_joined, name), 90)

    def has_joined(self, name: str) -> bool:
        """Whether both relays take part."""
        return sum("joinedAt" in node for node in self._account.nodes(name)) == 2

    def arrive(self) -> None:
        """Let all go; each succeeds, with what was sent, and leaves nothing."""
        for name, arn in zip(self.names, self._arns, strict=True):
            self._account.limit(name, None)
            run = self._account.wait(arn)
            assert (run.status, run.cause) == ("SUCCEEDED", None)
            assert tree(self._folder / name / "set") == tree(self._source)
        # A rule stays as long as another transfer relies on it.
        for name in self.names:
            assert self._account.left(name) == {}


def left_alone(pool: Pool) -> None:
    """All nodes are free, none counts a lease, and no daemon of a lease runs on any of them."""
    pool.await_free()

    def has_none() -> bool:
        pool.keep()
        # Those of a node that has ended are shown with it for an hour.
        return all("endedAt" in lease and lease["nodeId"] not in live(pool) for lease in pool.items("lease#"))

    pool.account.cloud.wait_for(has_none, 30)
    for instance, node in live(pool).items():
        assert node["leases"] == 0
        assert "cpt-relay-" not in pool.account.units(instance, node["region"])


def live(pool: Pool) -> dict[str, dict[str, Any]]:
    """Nodes that have not ended, by id."""
    return {item["nodeId"]: item for item in pool.items("node#") if item["state"] != "ENDED"}


def the_node(pool: Pool, region: str = HOME) -> dict[str, Any]:
    """The one that has leases."""
    (node,) = [item for item in pool.items("node#") if item["region"] == region and item["leases"]]
    return node


def kill(pool: Pool, instance: str) -> None:
    pool.account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[instance])


def freeze(_: Pool, instance: str) -> None:
    """All of its processes: it says nothing any more, and connections stay open."""
    for pid in marked(instance):
        os.kill(pid, signal.SIGSTOP)


def interrupt(pool: Pool, instance: str) -> None:
    pool.account.cloud.interrupt(instance)


@only_full
@pytest.mark.parametrize("spoil", [kill, freeze, interrupt])
def test_a_node_with_four_leases_is_replaced_and_all_four_transfers_arrive(
    pooled: Pool, tmp_path: Path, spoil: Callable[[Pool, str], None]
) -> None:
    left_alone(pooled)
    users = Users(pooled, tmp_path, [f"{spoil.__name__}-{number}" for number in range(4)], "prefer")
    users.await_joined()
    node = the_node(pooled)
    assert node["leases"] == 4
    spoil(pooled, node["instanceId"])

    def is_ended() -> bool:
        pooled.keep()
        return any(one["instanceId"] == node["instanceId"] and one["state"] == "ENDED" for one in pooled.items("node#"))

    pooled.account.cloud.wait_for(is_ended, 120)
    users.arrive()
    left_alone(pooled)


@only_full
def test_a_pool_that_nobody_refreshes_for_minutes_carries_no_more_and_all_arrives(pooled: Pool, tmp_path: Path) -> None:
    left_alone(pooled)
    users = Users(pooled, tmp_path, ["unkept-1", "unkept-2"])
    users.await_joined()
    # 100 MB take 13 minutes then, and a lease ends after four.
    for name in users.names:
        pooled.account.limit(name, 1)
    functions = pooled.account.aws.client("lambda")
    known = functions.get_function_configuration(FunctionName="cpt-keep-pool")["Environment"]["Variables"]
    pooled.account.configure("cpt-keep-pool", **dict.fromkeys(known, "broken"))
    try:
        # Each lease ends by itself, though the pool, which renews them, is dead.
        pooled.account.cloud.wait_for(
            lambda: all("stoppedAt" in lease for lease in pooled.items("lease#")), LEASE_SECONDS + 60
        )
    finally:
        pooled.account.configure("cpt-keep-pool", **known)
    users.arrive()
    left_alone(pooled)


@only_full
def test_tables_of_before_leave_no_lease_and_stop_no_transfer(pooled: Pool, tmp_path: Path) -> None:
    left_alone(pooled)
    gone = Users(pooled, tmp_path / "gone", ["gone"])
    gone.await_joined()
    before = pooled.table.scan(ConsistentRead=True)["Items"]
    gone.arrive()
    left_alone(pooled)
    users = Users(pooled, tmp_path / "here", ["here"])
    users.await_joined()
    with pooled.table.batch_writer() as writer:
        for item in pooled.table.scan(ConsistentRead=True)["Items"]:
            writer.delete_item(Key={"machine": item["machine"], "record": item["record"]})
        for item in before:
            writer.put_item(Item=item)
    users.arrive()
    left_alone(pooled)


def is_over(account: Account, name: str) -> bool:
    return "active" not in (account.record(name, "transfer") or {})


def leaves_nothing(account: Account, name: str) -> bool:
    return account.left(name) == {}


@only_full
def test_who_comes_and_goes_fifty_times_leaves_nothing(pooled: Pool, tmp_path: Path) -> None:
    left_alone(pooled)
    account = pooled.account
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    client = account.aws.client("stepfunctions")
    names = [f"visit-{number}" for number in range(VISITS)]
    for name in names:
        arn = account.start_slowly(account.request(source, tmp_path / name, relays={"pairs": 1, "pool": "only"}), name)
        account.cloud.wait_for(partial(account.nodes, name), 60)
        client.stop_execution(executionArn=arn)
        account.cloud.wait_for(partial(is_over, account, name), 60)
    left_alone(pooled)
    for name in names:
        account.cloud.wait_for(partial(leaves_nothing, account, name), 60)
        assert {node["state"] for node in account.nodes(name)} <= {"TERMINATED", "LOST"}


@only_full
def test_a_table_that_lies_to_a_node_starts_nothing(pooled: Pool, tmp_path: Path) -> None:
    left_alone(pooled)
    users = Users(pooled, tmp_path, ["honest"])
    users.await_joined()
    node = the_node(pooled)
    machine = machine_arn(pooled.account.machine, HOME, node["instanceId"])
    (lease,) = [one for one in pooled.items("lease#") if one["machine"] == machine]
    other = the_node(pooled, OTHER)
    lies = {
        "lease#honest#source-2-0": {},
        "lease#foreign#source-1-0": {"transferId": "foreign", "nodeId": other["nodeId"]},
        "lease#boundless#source-1-0": {"transferId": "boundless", "limit": {"number": 1, "MBps": -1, "until": 0}},
        "lease#endless#source-1-0": {"transferId": "endless", "until": "never"},
        "lease#..#source-1-0": {"transferId": ".."},
    }
    for record, changes in lies.items():
        pooled.table.put_item(Item={**lease, "record": record, **changes})
    # Of two leases of one transfer that are alike, the later one counts: this one, which serves.
    again = {**lease, "record": "lease#honest#source-3-0", "relayId": "source-3-0", "epoch": 0}
    pooled.table.put_item(Item=again)
    pooled.account.cloud.wait_for(lambda: any("failed" in one for one in pooled.items(again["record"])), 30)
    units = pooled.account.units(node["instanceId"], HOME)
    assert [line.split()[0] for line in units.splitlines() if "cpt-relay-" in line] == ["cpt-relay-honest.service"]
    for record in [*lies, again["record"]]:
        pooled.table.delete_item(Key={"machine": machine, "record": record})
    users.arrive()
    left_alone(pooled)
