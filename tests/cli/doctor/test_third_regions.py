"""Third regions that private routes must join with the ends, in an account of three regions."""

from dataclasses import replace
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws

from cli.aws import Aws
from cli.doctor.finding import Finding
from cli.doctor.machine import Machine
from cli.doctor.third_regions import ThirdRegions, judge_joined
from tests.lambdas.cloud import ENVIRONMENT
from tests.lambdas.peered import Peered, of_moto

WEST, IRELAND, FRANKFURT = "us-west-2", "eu-west-1", "eu-central-1"


class Account:
    """What the checks ask of `Aws`."""

    def client(self, service: str, region: str) -> Any:
        return boto3.client(cast(Any, service), region_name=region)


def looked(network: Peered, path: Any = "peering", *, named: bool = True) -> list[Finding]:
    subnet_ids = {region: (subnet,) for region, subnet in network.subnets.items()}
    environment = replace(ENVIRONMENT, inter_region_path=path, subnet_ids=subnet_ids)
    source = Machine("source", WEST, "i-0aaaaaaaaaaaaaaa1", network.vpcs[WEST], "subnet-a", "10.1.0.5", None)
    destination = replace(source, side="destination", region=IRELAND, vpc_id=network.vpcs[IRELAND])
    third = ThirdRegions(cast(Aws, Account()), environment, (source, destination), [FRANKFURT], named=named)
    return list(third.looked_at())


def enrolled() -> Peered:
    network = Peered(of_moto)
    tags: Any = [{"ResourceType": "security-group", "Tags": [{"Key": "cpt:deployment", "Value": "cpt"}]}]
    network.clients[FRANKFURT].create_security_group(
        GroupName="cpt-relay", Description="relays", VpcId=network.vpcs[FRANKFURT], TagSpecifications=tags
    )
    return network


@mock_aws
def test_region_that_is_peered_with_one_end_alone_is_told_until_the_other_is_too() -> None:
    network = enrolled()
    for end in (WEST, IRELAND):
        (lost,) = looked(network)
        assert (lost.check, lost.about, lost.status) == ("path", FRANKFURT, "failed")
        assert f"{end} with {FRANKFURT}" in lost.message or f"{FRANKFURT} with {end}" in lost.message
        peering = network.peer(end, FRANKFURT)
        network.route(end, FRANKFURT, peering)
        network.route(FRANKFURT, end, peering)
    assert [one.status for one in looked(network)] == ["ok"]


@mock_aws
def test_over_the_internet_nothing_is_looked_at() -> None:
    assert looked(enrolled(), "internet") == []


@pytest.mark.parametrize(
    ("named", "lacking", "status", "words"),
    [
        (True, [(WEST, FRANKFURT), ("us-east-1", FRANKFURT)], "failed", "no way leads through it"),
        (False, [(WEST, FRANKFURT), ("us-east-1", FRANKFURT)], "warning", "no route is planned through it"),
        (True, [("us-east-1", FRANKFURT)], "warning", "routes are planned without these borders"),
        (True, [(WEST, "us-east-1")], "ok", "private routes join it"),
    ],
)
def test_region_fails_a_request_only_if_it_is_named_and_on_no_way(
    named: bool, lacking: list[tuple[str, str]], status: str, words: str
) -> None:
    there = [WEST, IRELAND, FRANKFURT, "us-east-1"]
    lacking = [*lacking, ("us-east-1", IRELAND)]
    found = judge_joined(FRANKFURT, (WEST, IRELAND), there, lacking, "peering", named=named)
    assert found.status == status
    assert words in found.message
