"""What is made of the answers of AWS; tests/e2e/test_doctor.py has the answers."""

from typing import Any

import pytest

from cli.doctor import clock, functions, machine, path, quota
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
    ("limit", "status", "words"), [(1000, "ok", "1000"), (22, "ok", "22"), (10, "warning", "for 2 ")]
)
def test_functions_at_once(limit: int, status: str, words: str) -> None:
    found = functions.judge("us-west-2", limit)
    assert found.status == status
    assert words in found.message


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
