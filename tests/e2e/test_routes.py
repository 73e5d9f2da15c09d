"""Data takes ways through third regions, carried out by the real state machine over regions of their own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.figures import tell_figures
from cli.settings import configuration
from local.cloud import LocalCloud
from local.config import Fault, LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import END_TYPE, HOME, OTHER, SLOW_MBPS, Account, Run
from tests.e2e.assembly import synthesized
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import paths_with_data
from tests.e2e.test_slow_relays import FREEZE

FRANKFURT, TOKYO = "eu-central-1", "ap-northeast-1"
REGIONS = (HOME, OTHER, FRANKFURT, TOKYO)
LARGE = 200_000_000
# At 20 MB/s the ends are no reason against relays, and 200 MB take some seconds.
LIMIT_MBPS = 160
LIMITED: dict[str, Any] = {"objective": {"minimise": "time"}, "bandwidthLimitMbps": LIMIT_MBPS}
SLOW, WIDE = {"interRegionMBps": 5.0, "intraRegionMBps": 160.0}, {"interRegionMBps": 40.0, "intraRegionMBps": 160.0}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An account with four regions."""
    work = tmp_path_factory.mktemp("account")
    config = LocalConfig.model_validate({"port": 0, "regions": list(REGIONS), "bootSeconds": 1.0})
    with LocalCloud(config, work / "state", synthesized(work / "assembly", REGIONS)) as cloud:
        yield Account(cloud, work)


@pytest.fixture
def wide(account: Account) -> Account:
    """An account that knows one thing: the way through Frankfurt is eight times as wide as the direct one.

    What earlier tests taught is gone: the direct path here carries as much as the sender may send.
    """
    account.forget()
    types = configuration()["instanceTypes"]
    tell_figures(account.aws, f"{HOME}>{OTHER}", [END_TYPE, *types], SLOW, 3)
    for pair in (f"{HOME}>{FRANKFURT}", f"{FRANKFURT}>{OTHER}"):
        tell_figures(account.aws, pair, types, WIDE, 3)
    return account


def begin_through(account: Account, source: Path, destination: Path, name: str, **more: Any) -> str:
    """A transfer whose route through Frankfurt has delivered something; returns its execution."""
    relays = {"through": [FRANKFURT, TOKYO]}
    request = account.request(source, destination, relays=relays, chunkSizeMiB=1, **LIMITED, **more)
    arn = account.start(request, name)
    wait_for_route(account, name)
    return arn


def wait_for_route(account: Account, name: str) -> None:
    """Until a route has delivered something; once it is planned, and while its relays start, the transfer is slow."""
    account.cloud.wait_for(lambda: account.nodes(name), 60)
    account.limit(name, SLOW_MBPS)
    account.cloud.wait_for(lambda: any(map(is_route, paths_with_data(account, name))), 90)
    account.limit(name, LIMIT_MBPS)


def is_route(path: str) -> bool:
    """Whether a path leads through a third region."""
    return path.startswith("route-2-")


def transit_relay(account: Account, name: str) -> str:
    """Instance of the live relay in Frankfurt."""
    live = [one for one in account.launched(name, FRANKFURT) if one["State"]["Name"] == "running"]
    return str(live[0]["InstanceId"])


def check_end(account: Account, run: Run, name: str, source: Path, destination: Path) -> None:
    """It arrived as it was, and nothing is left in any region."""
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(destination / source.name) == tree(source)
    assert account.left(name) == {}
    for region in REGIONS:
        states = {one["State"]["Name"] for one in account.launched(name, region)}
        assert states <= {"shutting-down", "terminated"}
        assert account.rules(name, region) == []


def test_data_goes_through_a_third_region_and_nothing_is_left_in_any(wide: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    run = wide.wait(begin_through(wide, source, tmp_path / "out", "through"))
    check_end(wide, run, "through", source, tmp_path / "out")
    joined = {node["role"]: node["region"] for node in run.report["nodes"] if "joinedAt" in node}
    assert joined["transit-3"] == FRANKFURT
    assert TOKYO not in joined.values()
    ways = {tuple(way["regions"]): way for way in run.report["routes"]}
    through = ways[HOME, FRANKFURT, OTHER]
    assert through["relays"] >= 3
    assert through["bytes"] > 0
    # Frankfurt's border costs too: by the embedded table more than the first one.
    assert through["egressUsd"] / through["bytes"] > 2 * ways[HOME, OTHER]["egressUsd"] / ways[HOME, OTHER]["bytes"]


@only_full
def test_relay_of_a_third_region_that_is_killed_is_replaced_there(wide: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=2 * LARGE)
    arn = begin_through(wide, source, tmp_path / "out", "killed")
    wide.cloud.client("ec2", FRANKFURT).terminate_instances(InstanceIds=[transit_relay(wide, "killed")])
    run = wide.wait(arn)
    check_end(wide, run, "killed", source, tmp_path / "out")
    (lost,) = [one for one in run.report["replacements"] if one["nodeId"] == "transit-3-1-0"]
    assert lost.get("successor") == "transit-3-1-1" or "the rest takes" in lost["reason"]


@only_full
def test_relay_of_a_third_region_that_freezes_is_taken_for_lost(wide: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=3 * LARGE)
    arn = begin_through(wide, source, tmp_path / "out", "frozen")
    wide.shell(transit_relay(wide, "frozen"), FRANKFURT, FREEZE)
    run = wide.wait(arn)
    check_end(wide, run, "frozen", source, tmp_path / "out")
    (lost,) = [one for one in run.report["replacements"] if one["nodeId"] == "transit-3-1-0"]
    # Whoever sees it first: the meter of its bytes, or the machine before it.
    assert any(words in lost["cause"] for words in ("nothing came through it", "relay transit-3-1-0"))


def test_third_region_that_refuses_launches_leaves_the_other_ways(wide: Account, tmp_path: Path) -> None:
    # One call: EC2 is not asked again for another type or zone.
    fault = {"operation": "RunInstances", "region": FRANKFURT, "code": "UnauthorizedOperation", "count": 1}
    wide.cloud.spoil(Fault.model_validate(fault))
    source = make_files(tmp_path / "set", large_bytes=LARGE // 2)
    request = wide.request(source, tmp_path / "out", relays={"through": [FRANKFURT]}, **LIMITED)
    run = wide.run(request, "refused")
    check_end(wide, run, "refused", source, tmp_path / "out")
    assert [one for one in run.report["nodes"] if one["region"] == FRANKFURT] == []
    assert "eu-central-1" in " ".join(run.report["fleet"]["notes"])


def test_way_that_the_budget_does_not_bear_is_not_taken(wide: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE // 8)
    request = wide.request(
        source, tmp_path / "out", relays={"through": [FRANKFURT]}, **{**LIMITED, "objective": {"maxCostUsd": 0.02}}
    )
    run = wide.run(request, "dear")
    check_end(wide, run, "dear", source, tmp_path / "out")
    assert all("routes" not in row for row in run.report["estimate"]["rows"])
    assert run.report["cost"]["total"] <= 0.02


def links_measured(account: Account) -> set[tuple[str, str]]:
    """Links of which the map says that they were measured."""
    answer = account.aws.client("lambda").invoke(FunctionName="cpt-estimate-request", Payload=json.dumps({"map": {}}))
    assert "FunctionError" not in answer
    links = json.loads(answer["Payload"].read())["links"]
    return {(link["fromRegion"], link["toRegion"]) for link in links if link["samples"]}


@only_full
def test_every_hop_is_pre_tested_and_each_link_learns_its_rate(wide: Account, tmp_path: Path) -> None:
    # So much that something is left to move after the pre-test.
    source = make_files(tmp_path / "set", large_bytes=3 * LARGE)
    how = {**LIMITED, "preTest": True, "preTestSeconds": 1}
    request = wide.request(source, tmp_path / "out", relays={"through": [FRANKFURT], "pairs": 2}, **how)
    run = wide.run(request, "tested")
    check_end(wide, run, "tested", source, tmp_path / "out")
    nodes = {node["nodeId"]: node for node in wide.nodes("tested")}
    through = [node for node in nodes.values() if node["stage"] >= 2]
    assert {node["region"] for node in through if float(node.get("measuredHopMBps", 0)) > 1} == {HOME, FRANKFURT}
    joined = [name for name, node in nodes.items() if "joinedAt" in node]
    rejected = [name for name, node in nodes.items() if node["state"] == "REJECTED"]
    assert joined
    assert set(joined) | set(rejected) == set(nodes)
    notes = " ".join(run.report["fleet"]["notes"])
    assert ("were released after the pre-test" in notes) is bool(rejected)
    assert {(HOME, FRANKFURT), (FRANKFURT, OTHER)} <= links_measured(wide)


@only_full
def test_links_between_all_regions_are_measured_by_one_relay_in_each(wide: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1_000_000)
    relays = {"through": [FRANKFURT, TOKYO]}
    request = wide.request(source, tmp_path / "out", relays=relays, profile="measure", preTestSeconds=1)
    run = wide.run(request, "links")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    wanted = {(HOME, OTHER), (FRANKFURT, TOKYO), (TOKYO, FRANKFURT)}
    wanted |= {(HOME, third) for third in (FRANKFURT, TOKYO)} | {(third, OTHER) for third in (FRANKFURT, TOKYO)}
    found = {(one["fromRegion"], one["toRegion"]): one for one in run.report["measured"]["links"]}
    assert found.keys() == wanted
    assert [one for one in found.values() if one["interRegionMBps"] <= 1 or "error" in one] == []
    assert sorted(node["region"] for node in run.report["nodes"]) == sorted(REGIONS)
    assert not (tmp_path / "out").exists()
    assert wide.left("links") == {}
    for region in REGIONS:
        assert {one["State"]["Name"] for one in wide.launched("links", region)} <= {"shutting-down", "terminated"}
        assert wide.rules("links", region) == []
    assert wanted <= links_measured(wide)
