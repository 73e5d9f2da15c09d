"""Ec2Subnets against moto."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lambdas.adapters.subnets import Ec2Subnets, way_of
from lambdas.core.fleet.launch_plan import Way
from tests.lambdas.peered import Peered, of_moto


@pytest.fixture
def ec2() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("ec2", region_name="us-west-2")


@pytest.fixture
def network(ec2: Any) -> tuple[str, list[str]]:
    """A VPC with three subnets; only the main route table leads to an internet gateway, the third has another."""
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    mine = [{"Name": "vpc-id", "Values": [vpc]}]
    main = ec2.describe_route_tables(Filters=mine)["RouteTables"][0]["RouteTableId"]
    ec2.create_route(RouteTableId=main, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=f"us-west-2{zone}")["Subnet"][
            "SubnetId"
        ]
        for number, zone in enumerate("abc")
    ]
    inner = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(RouteTableId=inner, SubnetId=subnets[2])
    return vpc, subnets


def test_enrolled_subnets_of_the_vpc_with_zone_and_way_out(ec2: Any, network: tuple[str, list[str]]) -> None:
    vpc, (first, _, third) = network
    found = Ec2Subnets(ec2, "cpt", [first, third, "subnet-00000000000000000"]).of_vpc(vpc)
    assert {(subnet.subnet_id, subnet.zone, subnet.public) for subnet in found} == {
        (first, "us-west-2a", True),
        (third, "us-west-2c", False),
    }
    assert Ec2Subnets(ec2, "cpt", [first]).of_vpc("vpc-00000000000000000") == []


def test_subnets_that_the_deployment_made_are_known_by_its_tag(ec2: Any, network: tuple[str, list[str]]) -> None:
    vpc, (_, second, _) = network
    ec2.create_tags(Resources=[second], Tags=[{"Key": "cpt:deployment", "Value": "cpt"}])
    assert [subnet.subnet_id for subnet in Ec2Subnets(ec2, "cpt", ()).of_vpc(vpc)] == [second]
    assert Ec2Subnets(ec2, "other", ()).of_vpc(vpc) == []


def test_relays_are_in_no_subnet_that_has_only_addresses_of_ipv6(ec2: Any, network: tuple[str, list[str]]) -> None:
    vpc, (first, second, _) = network

    def without_ipv4(parsed: dict[str, Any], **_: Any) -> None:
        for item in parsed["Subnets"]:
            if item["SubnetId"] == first:
                del item["CidrBlock"]  # as EC2 says it; moto knows no such subnets

    ec2.meta.events.register("after-call.ec2.DescribeSubnets", without_ipv4)
    assert [subnet.subnet_id for subnet in Ec2Subnets(ec2, "cpt", [first, second]).of_vpc(vpc)] == [second]


def test_regions_are_joined_once_each_routes_to_the_other_through_their_peering(ec2: Any) -> None:
    network = Peered(of_moto)
    assert network.apart() == [("us-west-2", "eu-central-1"), ("eu-west-1", "eu-central-1")]
    peering = network.peer("us-west-2", "eu-central-1")
    network.route("us-west-2", "eu-central-1", peering)
    assert len(network.apart()) == 2  # nothing leads back
    network.route("eu-central-1", "us-west-2", peering)
    assert network.apart() == [("eu-west-1", "eu-central-1")]


@pytest.mark.parametrize(
    ("route", "way"),
    [
        ({"DestinationCidrBlock": "10.3.0.0/16", "VpcPeeringConnectionId": "pcx-1"}, Way("10.3.0.0/16", joins=True)),
        ({"DestinationCidrBlock": "10.0.0.0/8", "TransitGatewayId": "tgw-1"}, Way("10.0.0.0/8", joins=True)),
        ({"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1"}, Way("0.0.0.0/0", joins=False)),
        ({"DestinationCidrBlock": "10.3.0.0/16", "VpcPeeringConnectionId": "pcx-1", "State": "blackhole"}, None),
        ({"DestinationIpv6CidrBlock": "::/0", "EgressOnlyInternetGatewayId": "eigw-1"}, None),
        ({"DestinationPrefixListId": "pl-1", "TransitGatewayId": "tgw-1"}, Way("0.0.0.0/0", joins=True)),
        ({"DestinationPrefixListId": "pl-1", "GatewayId": "vpce-1"}, None),
    ],
)
def test_active_routes_to_addresses_are_ways(route: dict[str, str], way: Way | None) -> None:
    assert way_of(route) == way
