"""The way from an end to the services that it calls: tables, objects and events of the home region."""

from typing import Any

from cli.aws import Aws
from cli.doctor.finding import Finding, Findings, failed, ok, warning
from cli.doctor.machine import Machine

# Of the home region; the agent's own two are of the machine's region.
CALLED = ("dynamodb", "s3", "events")
AGENTS = ("ssm", "ssmmessages", "s3")
_ANYWHERE = "0.0.0.0/0"
# What a route leads to, by the key under which EC2 has it.
_TARGETS = (
    "NatGatewayId", "TransitGatewayId", "VpcPeeringConnectionId", "NetworkInterfaceId", "InstanceId", "GatewayId",
)  # fmt: skip


def way_out(aws: Aws, machine: Machine, routes: list[dict[str, Any]]) -> Findings:
    """`routes`: active ones of the machine's subnet."""
    if any(route.get("DestinationCidrBlock") == _ANYWHERE for route in routes):
        yield judge(machine, routes, aws.region, ())
        return
    here = [{"Name": "vpc-id", "Values": [machine.vpc_id]}]
    pages = aws.client("ec2", machine.region).get_paginator("describe_vpc_endpoints").paginate(Filters=here)
    found = [one for page in pages for one in page["VpcEndpoints"] if one.get("State", "available") == "available"]
    # Whatever the partition, the name ends with the region and the service.
    services = [one["ServiceName"].split(f".{machine.region}.")[-1] for one in found]
    yield judge(machine, routes, aws.region, services)


def judge(machine: Machine, routes: list[dict[str, Any]], home: str, endpoints: Any) -> Finding:
    """`endpoints`: services that the machine's VPC has endpoints for, of its own region."""
    targets = {route.get("DestinationCidrBlock"): _target(route) for route in routes}
    if _ANYWHERE in targets:
        return ok("path", machine.about, f"to AWS by {targets[_ANYWHERE]}")
    called = (*CALLED, *AGENTS) if machine.region == home else AGENTS
    missing = [service for service in dict.fromkeys(called) if service not in endpoints]
    if machine.region == home and not missing:
        return ok("path", machine.about, "to AWS by endpoints of its VPC")
    subnet = machine.subnet_id
    remedy = f"route {_ANYWHERE} of its subnet {subnet} to a NAT gateway or a gateway that leads out"
    if machine.region == home:
        what = f"its subnet {subnet} has no way to AWS, and its VPC no endpoints for {', '.join(missing)}"
        remedy += "; or make these endpoints"
    else:
        what = f"its subnet {subnet} has no way to {home}, whose {', '.join(CALLED)} it calls"
        remedy += "; endpoints of the VPC reach no other region"
    others = [target for target in targets.values() if target not in ("local", "nowhere")]
    if others:
        proxy = "unless it has a proxy by HTTPS_PROXY in the environment of its agent"
        return warning("path", machine.about, f"{what}, {proxy} behind {', '.join(others)}", remedy)
    return failed("path", machine.about, what, remedy)


def _target(route: dict[str, Any]) -> str:
    return next((str(route[key]) for key in _TARGETS if route.get(key)), "nowhere")
