"""The way between the two machines, and that of relays: addresses and routes, as the deployment's path wants them."""

from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

from cli.aws import Aws
from cli.doctor.finding import Finding, Findings, failed, looked, ok, warning
from cli.doctor.machine import Machine
from cli.doctor.way_out import way_out
from lambdas.adapters.environment import Environment
from lambdas.adapters.subnets import Ec2Subnets
from lambdas.core.fleet.launch_plan import Subnet

_ANYWHERE = "0.0.0.0/0"


class Paths:
    """Between two machines that run."""

    def __init__(self, aws: Aws, environment: Environment, source: Machine, destination: Machine) -> None:
        self._aws, self._environment = aws, environment
        self._ends = ((source, destination), (destination, source))
        between = source.region != destination.region
        self._public = between and environment.inter_region_path == "internet"

    def looked_at(self) -> Findings:
        """Look at the path from each end to the other, then from each side's relays."""
        for machine, other in self._ends:
            yield from looked("path", machine.about, partial(self._path, machine, other))
        for machine, _ in self._ends:
            yield from looked("subnets", machine.about, partial(self._subnets, machine))

    def _path(self, machine: Machine, other: Machine) -> Findings:
        routes = routes_of(self._aws, machine)
        if self._public and machine.vpc_id != other.vpc_id:
            yield judge_public(machine, routes)
            return
        if machine.vpc_id == other.vpc_id:
            yield ok("path", machine.about, "both machines are in one VPC")
        else:
            yield judge_private(machine, other, routes)
        yield from way_out(self._aws, machine, routes)

    def _subnets(self, machine: Machine) -> Findings:
        enrolled = self._environment.subnet_ids.get(machine.region, ())
        client = self._aws.client("ec2", machine.region)
        found = Ec2Subnets(client, self._environment.deployment, enrolled).of_vpc(machine.vpc_id)
        usable = [subnet.subnet_id for subnet in found if subnet.public or (not self._public and _leads_out(subnet))]
        if usable:
            yield ok("subnets", machine.about, f"relays may be in {', '.join(usable)}")
            return
        what = "none of its VPC's subnets is enrolled for relays"
        if found:
            gateway = "an internet gateway" if self._public else f"AWS ({_ANYWHERE})"
            what = f"none of the subnets enrolled for relays has a route to {gateway}"
        remedy = f"add one of {machine.vpc_id} to regions.{machine.region}.subnetIds in cdk.json and deploy"
        yield warning("subnets", machine.about, f"{what}: transfers go the direct way only", remedy)


def _leads_out(subnet: Subnet) -> bool:
    """Return whether its relays reach AWS, by a NAT gateway or by another VPC."""
    return any(way.block == _ANYWHERE for way in subnet.ways)


def routes_of(aws: Aws, machine: Machine) -> list[dict[str, Any]]:
    """Active routes of the machine's subnet; what has no route table of its own has the VPC's main one."""
    client = aws.client("ec2", machine.region)
    here = [{"Name": "vpc-id", "Values": [machine.vpc_id]}]
    pages = client.get_paginator("describe_route_tables").paginate(Filters=here)
    tables = [table for page in pages for table in page["RouteTables"]]
    links = [(link, table) for table in tables for link in table["Associations"]]
    own = [table for link, table in links if link.get("SubnetId") == machine.subnet_id]
    main = [table for link, table in links if link.get("Main")]
    routes = [route for table in (own or main)[:1] for route in table["Routes"]]
    return [route for route in routes if route.get("State", "active") == "active"]


def judge_public(machine: Machine, routes: list[dict[str, Any]]) -> Finding:
    """Over the internet both must have an address of their own, and a route to a gateway."""
    if machine.public_address is None:
        remedy = "give it an Elastic IP; or peer the VPCs, and deploy with interRegionPath 'peering' in cdk.json"
        return failed("path", machine.about, "it has no public address, and the path is the internet", remedy)
    out = [route for route in routes if route.get("DestinationCidrBlock") == _ANYWHERE]
    if any(str(route.get("GatewayId", "")).startswith("igw-") for route in out):
        return ok("path", machine.about, f"over the internet, as {machine.public_address}")
    through = "a NAT gateway, which lets nobody in" if any("NatGatewayId" in route for route in out) else "nowhere"
    remedy = f"route {_ANYWHERE} of its subnet {machine.subnet_id} to an internet gateway"
    return failed("path", machine.about, f"its subnet {machine.subnet_id} leads to {through}", remedy)


def judge_private(machine: Machine, other: Machine, routes: list[dict[str, Any]]) -> Finding:
    """Over peering the other's address must be routed, by the narrowest block that has it."""
    wanted = ip_address(other.private_address)
    blocks = [(ip_network(route["DestinationCidrBlock"]), route) for route in routes if "DestinationCidrBlock" in route]
    leading = [(block.prefixlen, route) for block, route in blocks if wanted in block]
    route = max(leading, key=lambda found: found[0], default=(0, {}))[1]
    way = route.get("VpcPeeringConnectionId") or route.get("TransitGatewayId")
    if way:
        return ok("path", machine.about, f"to {wanted} through {way}")
    remedy = (
        f"peer {machine.vpc_id} with {other.vpc_id} and route {wanted} to it in the table of {machine.subnet_id}; "
        "blocks that overlap cannot be peered"
    )
    return failed("path", machine.about, f"its subnet has no route to {wanted} of the other VPC", remedy)
