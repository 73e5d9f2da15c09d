"""Three regions with a VPC each, in an emulator's EC2, that are peered and routed step by step."""

from collections.abc import Callable
from typing import Any

import boto3

from lambdas.adapters.subnets import Ec2Subnets
from lambdas.core.fleet import joined

THREE = {"us-west-2": "10.1.0.0/16", "eu-west-1": "10.2.0.0/16", "eu-central-1": "10.3.0.0/16"}
ENDS = ("us-west-2", "eu-west-1")


class Peered:
    """A VPC with one subnet in each of three regions, and peerings between them; `client`: EC2's, of a region."""

    def __init__(self, client: Callable[[str], Any]) -> None:
        self.clients = {region: client(region) for region in THREE}
        self.vpcs = {
            region: client.create_vpc(CidrBlock=THREE[region])["Vpc"]["VpcId"]
            for region, client in self.clients.items()
        }
        self.subnets = {
            region: client.create_subnet(VpcId=self.vpcs[region], CidrBlock=THREE[region].replace("0/16", "0/24"))[
                "Subnet"
            ]["SubnetId"]
            for region, client in self.clients.items()
        }

    def peer(self, one: str, other: str) -> str:
        made = self.clients[one].create_vpc_peering_connection(
            VpcId=self.vpcs[one], PeerVpcId=self.vpcs[other], PeerRegion=other
        )
        peering = made["VpcPeeringConnection"]["VpcPeeringConnectionId"]
        self.clients[other].accept_vpc_peering_connection(VpcPeeringConnectionId=peering)
        return str(peering)

    def route(self, here: str, there: str, peering: str) -> None:
        mine: list[Any] = [{"Name": "vpc-id", "Values": [self.vpcs[here]]}]
        table = self.clients[here].describe_route_tables(Filters=mine)["RouteTables"][0]["RouteTableId"]
        self.clients[here].create_route(
            RouteTableId=table, DestinationCidrBlock=THREE[there], VpcPeeringConnectionId=peering
        )

    def apart(self) -> list[tuple[str, str]]:
        found = {
            region: Ec2Subnets(client, "cpt", [self.subnets[region]]).of_vpc(self.vpcs[region])
            for region, client in self.clients.items()
        }
        return joined.apart(found, ENDS)


def of_moto(region: str) -> Any:
    """A client of moto's EC2, where that is mocked."""
    return boto3.client("ec2", region_name=region)
