"""What is made of the answers of AWS; tests/e2e/test_doctor.py has the answers."""

from typing import Any

import pytest

from cli.doctor import clock, functions, machine, network, path, quota, way_out
from cli.doctor.machine import Machine

SOURCE = Machine("source", "us-west-2", "i-0aaaaaaaaaaaaaaa1", "vpc-a", "subnet-a", "10.10.0.5", "54.0.0.1")
HIDDEN = Machine("destination", "eu-west-1", "i-0bbbbbbbbbbbbbbb2", "vpc-b", "subnet-b", "10.11.0.5", None)
ANYWHERE = "0.0.0.0/0"


@pytest.mark.parametrize(
    ("seconds", "status", "words"),
    [
        (0.4, "ok", "within 30 s"),
        (-29.0, "ok", "within 30 s"),
        (45.0, "warning", "45 s ahead of AWS"),
        (-45.0, "warning", "45 s behind AWS"),
        (400.0, "failed", "refuses calls"),
    ],
)
def test_clock(seconds: float, status: str, words: str) -> None:
    found = clock.judge(seconds)
    assert found.status == status
    assert words in found.message


@pytest.mark.parametrize(
    ("ping", "version", "status", "words"),
    [
        (None, "0", "failed", "never heard"),
        ("ConnectionLost", "3.3.3050.0", "failed", "ConnectionLost"),
        ("Online", "3.3.900.0", "failed", "3.3.900.0; 3.3.2746.0 is the least"),
        ("Online", "3.3.2746.0", "ok", "online"),
        ("Online", "4.0.0.0", "ok", "online"),
    ],
)
def test_agent(ping: str | None, version: str, status: str, words: str) -> None:
    found = machine.judge_agent("source i-1", ping, version)
    assert found.status == status
    assert words in found.message


@pytest.mark.parametrize(
    ("tag", "required", "status", "words"),
    [
        ("cpt", False, "ok", "lets cpt use it"),
        ("cpt", True, "ok", "lets cpt use it"),
        (None, False, "warning", "the next release sends no command to it"),
        ("other", False, "warning", "cpt:end=other, for another deployment"),
        (None, True, "failed", "no command may be sent to it"),
        ("other", True, "failed", "no command may be sent to it"),
    ],
)
def test_consent(tag: str | None, required: bool, status: str, words: str) -> None:
    found = machine.judge_consent("source i-1", tag, "cpt", "aws ec2 create-tags", required=required)
    assert found.status == status
    assert words in found.message


@pytest.mark.parametrize(
    ("end", "route", "status", "words"),
    [
        (SOURCE, {"DestinationCidrBlock": ANYWHERE, "GatewayId": "igw-1"}, "ok", "as 54.0.0.1"),
        (HIDDEN, {"DestinationCidrBlock": ANYWHERE, "GatewayId": "igw-1"}, "failed", "no public address"),
        (SOURCE, {"DestinationCidrBlock": ANYWHERE, "NatGatewayId": "nat-1"}, "failed", "NAT gateway"),
        (SOURCE, {"DestinationCidrBlock": "10.10.0.0/16", "GatewayId": "local"}, "failed", "leads to nowhere"),
    ],
)
def test_path_over_the_internet(end: Machine, route: dict[str, Any], status: str, words: str) -> None:
    found = path.judge_public(end, [route])
    assert found.status == status
    assert words in found.message


@pytest.mark.parametrize(
    ("limit", "status", "words"),
    [
        (1000, "ok", "reservedConcurrency: 5 would keep some"),
        (110, "ok", "reservedConcurrency: 5 would keep some"),
        (109, "ok", "reservedConcurrency must stay 0"),
        (23, "ok", "23"),
        (22, "warning", "for 4 "),
        (10, "warning", "for 1 "),
    ],
)
def test_functions_at_once(limit: int, status: str, words: str) -> None:
    found = functions.judge("us-west-2", limit)
    assert found.status == status
    assert words in found.message


LOCAL = {"DestinationCidrBlock": "10.10.0.0/16", "GatewayId": "local"}


@pytest.mark.parametrize(
    ("home", "route", "endpoints", "status", "words"),
    [
        ("us-west-2", {"DestinationCidrBlock": ANYWHERE, "NatGatewayId": "nat-1"}, [], "ok", "by nat-1"),
        ("us-west-2", {}, ["dynamodb", "s3", "events", "ssm", "ssmmessages"], "ok", "endpoints of its VPC"),
        ("us-west-2", {}, ["dynamodb", "s3", "ssm", "ssmmessages"], "failed", "no endpoints for events"),
        ("eu-west-1", {}, ["dynamodb", "s3", "events", "ssm", "ssmmessages"], "failed", "no way to eu-west-1"),
        ("eu-west-1", {"DestinationCidrBlock": "10.0.0.0/8", "TransitGatewayId": "tgw-1"}, [], "warning", "tgw-1"),
    ],
)
def test_way_out(home: str, route: dict[str, Any], endpoints: list[str], status: str, words: str) -> None:
    found = way_out.judge(SOURCE, [LOCAL, *([route] if route else [])], home, endpoints)
    assert found.status == status
    assert words in found.message


VPC = {"VpcId": "vpc-a", "CidrBlock": "10.10.0.0/16", "OwnerId": "999999999999"}


def opened(protocol: str, cidr: str) -> dict[str, Any]:
    """Port 53 to some addresses."""
    return {"IpProtocol": protocol, "FromPort": 53, "ToPort": 53, "IpRanges": [{"CidrIp": cidr}]}


@pytest.mark.parametrize(
    ("servers", "egress", "status", "words"),
    [
        (["AmazonProvidedDNS"], [], "ok", "AmazonProvidedDNS"),
        (["10.10.0.2"], [], "ok", "10.10.0.2"),
        (["10.9.0.2"], [], "failed", "vpc-a name 10.9.0.2, which no security group lets"),
        (["10.9.0.2"], [opened("udp", "10.9.0.2/32"), opened("tcp", "10.9.0.2/32")], "ok", "10.9.0.2"),
        (["10.9.0.2"], [opened("udp", "10.9.0.2/32")], "failed", "10.9.0.2"),
        (["10.9.0.2"], [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}], "ok", "10.9.0.2"),
        (["10.9.0.2", "AmazonProvidedDNS"], [], "warning", "name 10.9.0.2"),
        (["fd00::53"], [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}], "failed", "fd00::53"),
        ([], [], "failed", "no name server"),
    ],
)
def test_name_servers(servers: list[str], egress: list[dict[str, Any]], status: str, words: str) -> None:
    found = network.judge_names("us-west-2", VPC, servers, egress)
    assert found.status == status
    assert words in found.message


def test_subnets_say_whose_they_are_and_which_are_not_there() -> None:
    owners = {"subnet-a": "111111111111", "subnet-b": "999999999999"}
    found = network.judge_subnets("us-west-2", ["subnet-a", "subnet-b"], owners, "111111111111")
    assert found.status == "ok"
    assert "account 999999999999 shares subnet-b" in found.message
    lost = network.judge_subnets("us-west-2", ["subnet-a", "subnet-b", "subnet-c"], owners, "111111111111")
    assert lost.status == "warning"
    assert "subnet-c to this account" in lost.message


def test_path_over_peering_takes_the_narrowest_route() -> None:
    wide = {"DestinationCidrBlock": "10.0.0.0/8", "GatewayId": "vgw-1"}
    narrow = {"DestinationCidrBlock": "10.11.0.0/16", "VpcPeeringConnectionId": "pcx-1"}
    assert path.judge_private(SOURCE, HIDDEN, [wide, narrow]).message == "to 10.11.0.5 through pcx-1"
    lost = path.judge_private(SOURCE, HIDDEN, [wide, {"DestinationPrefixListId": "pl-1", "GatewayId": "vpce-1"}])
    assert lost.status == "failed"
    assert "peer vpc-a with vpc-b" in str(lost.remedy)


@pytest.mark.parametrize(
    ("free", "status", "words"),
    [
        (32, "ok", "32 vCPUs are left"),
        (5, "warning", "2 can be had"),
        (0, "warning", "0 can be had"),
        (None, "warning", "is not known"),
    ],
)
def test_quota(free: int | None, status: str, words: str) -> None:
    found = quota.judge("us-west-2", 16, "c6in.large", 2, free, "on-demand")
    assert found.status == status
    assert words in found.message
