"""Regions that are joined by peerings: routes of relays cross those borders alone which are peered and routed."""

import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.exit_codes import ExitCode
from cli.figures import tell_figures
from cli.main import app
from cli.settings import configuration
from lambdas.adapters.environment import spread
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import END_TYPE, HOME, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.files import make_files, tree
from tests.e2e.test_routes import FRANKFURT, LARGE, LIMITED, SLOW, WIDE, wait_for_route

REGIONS = (HOME, OTHER, FRANKFURT)


class Network:
    """The VPCs that the stacks of the regions have made."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._clients = {region: cloud.client("ec2", region) for region in REGIONS}
        here = [{"Name": "group-name", "Values": ["cpt-relay"]}]
        self._vpcs = {
            region: client.describe_security_groups(Filters=here)["SecurityGroups"][0]["VpcId"]
            for region, client in self._clients.items()
        }

    def join(self, one: str, other: str) -> None:
        """Peer two regions, and route each to the other."""
        made = self._clients[one].create_vpc_peering_connection(
            VpcId=self._vpcs[one], PeerVpcId=self._vpcs[other], PeerRegion=other
        )
        peering = made["VpcPeeringConnection"]["VpcPeeringConnectionId"]
        self._clients[other].accept_vpc_peering_connection(VpcPeeringConnectionId=peering)
        for here, there in permutations((one, other)):
            found = self._clients[there].describe_vpcs(VpcIds=[self._vpcs[there]])["Vpcs"]
            mine = [{"Name": "vpc-id", "Values": [self._vpcs[here]]}]
            for table in self._clients[here].describe_route_tables(Filters=mine)["RouteTables"]:
                self._clients[here].create_route(
                    RouteTableId=table["RouteTableId"],
                    DestinationCidrBlock=found[0]["CidrBlock"],
                    VpcPeeringConnectionId=peering,
                )


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An account with three regions, whose functions take private addresses between them; the ends are peered."""
    work = tmp_path_factory.mktemp("account")
    settings: dict[str, Any] = {"port": 0, "regions": list(REGIONS), "bootSeconds": 1.0}
    templates = synthesized(work / "assembly", REGIONS)
    with LocalCloud(LocalConfig.model_validate(settings), work / "state", templates) as cloud:
        made = Account(cloud, work)
        for function in made.aws.client("lambda").list_functions()["Functions"]:
            if "INTER_REGION_PATH" in spread(function.get("Environment", {}).get("Variables", {})):
                made.configure(function["FunctionName"], INTER_REGION_PATH="peering")
        types = configuration()["instanceTypes"]
        tell_figures(made.aws, f"{HOME}>{OTHER}", [END_TYPE, *types], SLOW, 3)
        for pair in (f"{HOME}>{FRANKFURT}", f"{FRANKFURT}>{OTHER}"):
            tell_figures(made.aws, pair, types, WIDE, 3)
        yield made


def cpt(account: Account, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout + result.stderr


@only_full
def test_third_region_serves_once_its_vpc_is_joined_with_both_others(
    account: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, network, document = (
        make_files(tmp_path / "set", large_bytes=LARGE),
        Network(account.cloud),
        tmp_path / "r.json",
    )
    asked = account.request(source, tmp_path / "out", relays={"through": [FRANKFURT]}, **LIMITED)
    document.write_text(json.dumps(asked))
    network.join(HOME, OTHER)
    network.join(HOME, FRANKFURT)

    code, said = cpt(account, monkeypatch, "doctor", str(document))
    assert code == ExitCode.UNFIT, said
    assert (
        f"{FRANKFURT}: no way leads through it: no peering with routes both ways joins {FRANKFURT} with {OTHER}" in said
    )
    refused = account.run(asked, "refused")
    assert (refused.status, refused.error) == ("FAILED", "InvalidRequest")
    assert f"joins {FRANKFURT} with {OTHER}" in str(refused.cause)
    every = {**asked, "relays": {"through": "auto"}}
    document.write_text(json.dumps(every))
    code, said = cpt(account, monkeypatch, "estimate", str(document), "--size", "8GB")
    assert code == ExitCode.SUCCEEDED, said
    assert f"no peering with routes both ways joins {FRANKFURT} with {OTHER}" in " ".join(said.split())

    network.join(FRANKFURT, OTHER)
    document.write_text(json.dumps(asked))
    code, said = cpt(account, monkeypatch, "doctor", str(document))
    assert f"{FRANKFURT}: private routes join it" in said
    arn = account.start({**asked, "chunkSizeMiB": 1}, "joined")
    wait_for_route(account, "joined")
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / source.name) == tree(source)
    ways = {tuple(way["regions"]): way for way in run.report["routes"]}
    assert ways[HOME, FRANKFURT, OTHER]["bytes"] > 0
    assert account.left("joined") == {}
