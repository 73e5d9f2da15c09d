"""Relays that stand before anybody asks: whole executions through a pool of one node in each region."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from lambdas.core.transfer.partition import machine_arn
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, LARGE, OTHER, Account, Run
from tests.e2e.assembly import synthesized
from tests.e2e.attacker import Attacker, denied
from tests.e2e.files import make_files, tree
from tests.e2e.standing_pool import Pool, through_the_pool
from tests.infra.test_permissions import MODULES, call_graph

NODE_TYPE = "c6in.large"
ONE_EACH = {"min": 1, "max": 2, "instanceType": NODE_TYPE, "leasesPerNode": 2}
# A node looks twice a second, and so does the sender; the rest is the machine's load.
JOINED_SECONDS = 5.0
TELLING = "pool:PutEvents"


def charged(pool: Pool, run: Run) -> dict[str, Any]:
    """What the execution has paid for the pool, which estimate, report and the month's account agree on."""
    report, estimate = run.report, run.report["estimate"]
    (row,) = (row for row in estimate["rows"] if row["pairs"] == estimate["chosenPairs"])
    price = report["pool"]["price"]
    assert price == estimate["poolPrice"]
    assert 0 < row["poolUsd"] < row["costUsd"]
    assert {kind["kind"] for kind in estimate["sideBySide"]} == {"direct", "pool", "launched"}
    # Both sides cost; what was sent again costs too.
    usd = sum(price["sides"].values()) * through_the_pool(run) / 1e9
    assert report["cost"]["pool"] == report["pool"]["usd"] >= usd * 0.99 > 0
    assert report["cost"]["relays"] == 0
    assert report["energy"]["wattHours"] > 0
    (charge,) = (item for item in pool.items("") if item["machine"].startswith("charges#"))
    assert (float(charge["usd"]), int(charge["sentBytes"])) == (report["pool"]["usd"], report["pool"]["bytes"])
    months = pool.items("month#")
    assert {item["region"] for item in months} == {HOME, OTHER}
    assert all(float(item["costUsd"]) > 0 for item in months)
    return charge


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    work = tmp_path_factory.mktemp("pool")
    caps = {"interRegionMBps": 20.0, "intraRegionMBps": 160.0}
    config = {"port": 0, "bootSeconds": 1.0, "caps": caps, "pollSeconds": 0.2}
    templates = synthesized(work / "assembly", (HOME, OTHER), pool={HOME: ONE_EACH, OTHER: ONE_EACH})
    with LocalCloud(LocalConfig.model_validate(config), work / "state", templates) as cloud:
        pool = Pool(Account(cloud, work), templates)
        pool.await_free()
        yield pool


def test_a_transfer_goes_through_nodes_that_stand_there_and_leaves_them(pooled: Pool, tmp_path: Path) -> None:
    account = pooled.account
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    # It waits some seconds for a pool that costs nothing, and starts so that its first byte leaves in time.
    price = {"maxUsdPerGB": 0, "startBy": "20s"}
    request = account.request(source, tmp_path / "out", relays={"pairs": 1, "pool": "only", "weight": 2, **price})
    arn = account.start_slowly(request, "pooled")
    account.cloud.wait_for(lambda: [lease.get("applied") for lease in pooled.items("lease#")] == [1, 1], 60)
    account.limit("pooled", None)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert [account.launched("pooled", region) for region in (HOME, OTHER)] == [[], []]
    nodes = account.nodes("pooled")
    assert {(node["provider"], node["state"]) for node in nodes} == {("pool", "TERMINATED")}
    assert all("joinedAt" in node for node in nodes)
    assert through_the_pool(run) > 0
    first_byte, joined = account.first_byte_at("pooled"), max(float(node["joinedAt"]) for node in nodes)
    assert joined - first_byte < JOINED_SECONDS, "no Run Command lies between them"
    charge = charged(pooled, run)
    assert charge["tenant"] == "operator"
    assert run.report["pool"]["price"]["overdue"] is True
    assert [stage["stage"] for stage in run.report["stages"] if "Price" in stage["stage"]] == ["Await Price"]
    assert [lease["weight"] for lease in pooled.items("lease#") if lease["transferId"] == "pooled"] in ([], [2, 2])
    assert account.left("pooled") == {}
    assert pooled.states() >= {(HOME, "FREE"), (OTHER, "FREE")}
    assert all(item["leases"] == 0 for item in pooled.items("node#"))
    assert [account.rules("pooled", region) for region in (HOME, OTHER)] == [[], []]
    account.cloud.wait_for(pooled.has_no_lease, 20)


@only_full
def test_two_transfers_have_half_of_a_node_each(pooled: Pool, tmp_path: Path) -> None:
    account, names = pooled.account, ("left", "right")
    pooled.await_free()
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    relays = {"pairs": 1, "pool": "only"}
    arns = [account.start_slowly(account.request(source, tmp_path / name, relays=relays), name) for name in names]
    capacities = {item["region"]: float(item["capacityMBps"]) for item in pooled.items("node#")}
    halves = {region: [pytest.approx(capacities[region] / 2, rel=0.1)] * 2 for region in (HOME, OTHER)}
    account.cloud.wait_for(lambda: pooled.limits() == halves, 60)
    for name, arn in zip(names, arns, strict=True):
        account.limit(name, None)
        run = account.wait(arn)
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        assert tree(tmp_path / name / "set") == tree(source)


@only_full
def test_a_node_that_ends_with_a_lease_on_it_is_replaced_and_nothing_is_lost(pooled: Pool, tmp_path: Path) -> None:
    account = pooled.account
    pooled.await_free()
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    relays = {"pairs": 1, "pool": "prefer"}
    arn = account.start_slowly(account.request(source, tmp_path / "out", relays=relays), "bereft")
    account.cloud.wait_for(lambda: sum("joinedAt" in node for node in account.nodes("bereft")) == 2, 60)
    (lost,) = [item["instanceId"] for item in pooled.items("node#") if item["region"] == HOME and item["leases"]]
    account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[lost])
    account.cloud.wait_for(lambda: "LOST" in {node["state"] for node in account.nodes("bereft")}, 60)
    account.limit("bereft", None)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert account.left("bereft") == {}
    pooled.await_free()
    assert {item["state"] for item in pooled.items("node#") if item["instanceId"] == lost} == {"ENDED"}


@only_full
def test_of_three_that_want_two_leases_one_does_without_it(pooled: Pool, tmp_path: Path) -> None:
    account, names = pooled.account, ("here", "there", "late")
    pooled.await_free()
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    relays = {"pairs": 1, "pool": "prefer"}
    runs = [account.start(account.request(source, tmp_path / name, relays=relays), name) for name in names]
    for name, arn in zip(names, runs, strict=True):
        run = account.wait(arn)
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        assert tree(tmp_path / name / "set") == tree(source)
        assert account.left(name) == {}
    leases = [lease for lease in pooled.items("lease#") if lease["transferId"] in names]
    machines = [lease["machine"] for lease in leases if "endedAt" not in lease]
    assert machines == []
    assert all(item["leases"] == 0 for item in pooled.items("node#"))


@only_full
def test_who_wants_leases_alone_waits_for_its_turn_on_the_direct_path(pooled: Pool, tmp_path: Path) -> None:
    account = pooled.account
    pooled.await_free()
    pooled.count_leases("FREE", 2, "SERVING")
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    relays = {"pairs": 1, "pool": "only"}
    arn = account.start_slowly(account.request(source, tmp_path / "out", relays=relays), "late")
    account.cloud.wait_for(lambda: "poolTurn" in (account.record("late", "transfer") or {}), 60)
    turn = (account.record("late", "transfer") or {})["poolTurn"]
    assert (turn["position"], turn["waiting"]) == (1, 1)
    # The direct path carries meanwhile.
    account.cloud.wait_for(lambda: "firstByteAt" in (account.progress("late") or {}), 60)
    pooled.count_leases("SERVING", 0, "FREE")
    account.cloud.wait_for(lambda: sum("joinedAt" in node for node in account.nodes("late")) == 2, 60)
    account.limit("late", None)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert through_the_pool(run) > 0


def test_people_see_nodes_and_whose_leases_are_on_them(pooled: Pool) -> None:
    pooled.await_free()
    environment = {
        "AWS_ENDPOINT_URL": pooled.account.cloud.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    shown = CliRunner().invoke(app, ["--region", HOME, "pool", "--json"], env=environment)
    assert shown.exit_code == 0, shown.output
    nodes = [json.loads(line) for line in shown.output.splitlines()]
    assert {(node["region"], node["state"]) for node in nodes} >= {(HOME, "FREE"), (OTHER, "FREE")}
    table = CliRunner().invoke(app, ["--region", HOME, "pool"], env={**environment, "COLUMNS": "160"})
    assert "idle" in table.output


def test_a_node_reaches_its_own_leases_and_nothing_else(pooled: Pool) -> None:
    account = pooled.account
    pooled.await_free()
    mine = next(item for item in pooled.items("node#") if item["region"] == HOME and item["state"] == "FREE")
    other = next(item for item in pooled.items("node#") if item["region"] == OTHER and item["state"] == "FREE")
    node = Attacker.on(account, mine["instanceId"])
    assert f"assumed-role/cpt-pool-{HOME}/" in node.client("sts").get_caller_identity()["Arn"]
    table = node.client("dynamodb")
    arns = [machine_arn(account.machine, one["region"], one["instanceId"]) for one in (mine, other)]
    assert table.query(**query_of(arns[0]))["Items"]
    table.update_item(**said_by(arns[0], "said", "saidAt"))
    denied(table.query, **query_of(arns[1]))
    denied(table.query, **query_of(f"pool#{HOME}"))
    denied(table.update_item, **said_by(arns[1], "said", "saidAt"))
    denied(table.update_item, **said_by(arns[0], "keepalive", "until"))
    denied(table.update_item, **said_by(arns[0], "lease#any#source-1-0", "command"))
    denied(table.update_item, **said_by(f"pool#{HOME}", mine["record"], "saidAt"))
    denied(table.put_item, TableName="cpt-pool", Item={"machine": {"S": arns[0]}, "record": {"S": "lease#any"}})
    denied(table.scan, TableName="cpt-pool")
    denied(
        table.query, **{**query_of(arns[0]), "TableName": "cpt-transfers", "KeyConditionExpression": "transferId = :m"}
    )
    denied(
        node.client("events").put_events, Entries=[{"Source": "cpt.agent", "DetailType": "Relay Lost", "Detail": "{}"}]
    )


def query_of(machine: str, table: str = "cpt-pool", key: str = "machine") -> dict[str, Any]:
    """Of the items under one key."""
    values = {":m": {"S": machine}}
    return {"TableName": table, "KeyConditionExpression": f"{key} = :m", "ExpressionAttributeValues": values}


def said_by(machine: str, record: str, attribute: str) -> dict[str, Any]:
    """A write of one attribute."""
    return {
        "TableName": "cpt-pool",
        "Key": {"machine": {"S": machine}, "record": {"S": record}},
        "UpdateExpression": "SET #a = :a",
        "ExpressionAttributeNames": {"#a": attribute},
        "ExpressionAttributeValues": {":a": {"N": str(int(time.time()))}},
    }


def test_whoever_leases_and_gives_back_may_write_the_table_and_nobody_else(pooled: Pool) -> None:
    graph = call_graph()
    for handler in MODULES:
        needs = {need for need in graph.needs(handler) if need.startswith("pool:")}
        assert pooled.granted(handler) == needs - {TELLING}, handler
        assert TELLING not in needs or pooled.may_tell(handler), handler
