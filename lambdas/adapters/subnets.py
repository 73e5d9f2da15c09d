"""The subnets of one region that relays may be in."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.adapters.ec2 import DEPLOYMENT_TAG
from lambdas.adapters.throttling import is_denied
from lambdas.core.errors import MissingPermission
from lambdas.core.fleet.launch_plan import Subnet, Way

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

ANYWHERE = "0.0.0.0/0"
_MAIN = ""


class Ec2Subnets:
    """Subnets over EC2; `enrolled`: ids of the configuration. Without any the deployment has made its own, by tag."""

    def __init__(self, client: "EC2Client", deployment: str, enrolled: Collection[str]) -> None:
        self._client = client
        self._deployment = deployment
        self._enrolled = enrolled

    def of_vpc(self, vpc_id: str) -> list[Subnet]:
        """See Subnets."""
        mine: dict[str, Any] = {"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [self._deployment]}
        if self._enrolled:
            mine = {"Name": "subnet-id", "Values": list(self._enrolled)}
        here: dict[str, Any] = {"Name": "vpc-id", "Values": [vpc_id]}
        try:
            pages = self._client.get_paginator("describe_subnets").paginate(Filters=[here, mine])  # type: ignore[list-item]
            # One that has only addresses of IPv6 has no block, and relays are known by addresses of IPv4.
            found = [item for page in pages for item in page["Subnets"] if item.get("CidrBlock")]
            tables = self._tables(vpc_id) if found else {}
        except ClientError as error:
            if is_denied(error):
                raise MissingPermission(f"ec2:DescribeSubnets or ec2:DescribeRouteTables: {error}") from error
            raise
        return [
            Subnet(
                subnet_id=item["SubnetId"],
                zone=item["AvailabilityZone"],
                public=any(_leads_out(route) for route in routes),
                block=item["CidrBlock"],
                ways=tuple(way for route in routes if (way := way_of(route))),
            )
            for item in found
            for routes in [tables.get(item["SubnetId"], tables[_MAIN])]
        ]

    def _tables(self, vpc_id: str) -> dict[str, list[Any]]:
        """Routes by subnet; a subnet without a route table has those of the VPC's main one."""
        filters: list[Any] = [{"Name": "vpc-id", "Values": [vpc_id]}]
        pages = self._client.get_paginator("describe_route_tables").paginate(Filters=filters)
        links = [(link, table) for page in pages for table in page["RouteTables"] for link in table["Associations"]]
        tables = {link["SubnetId"]: list[Any](table["Routes"]) for link, table in links if "SubnetId" in link}
        main = [list[Any](table["Routes"]) for link, table in links if link.get("Main")]
        return {_MAIN: main[0] if main else [], **tables}


def _leads_out(route: Any) -> bool:
    return route.get("DestinationCidrBlock") == ANYWHERE and str(route.get("GatewayId", "")).startswith("igw-")


def way_of(route: Any) -> Way | None:
    """Return what a route of EC2 is, if it is active and leads to IPv4 addresses.

    Until a peering is accepted, and once it is gone, its routes are not active.
    """
    if route.get("State", "active") != "active":
        return None
    joins = "VpcPeeringConnectionId" in route or "TransitGatewayId" in route
    if joins and "DestinationPrefixListId" in route:
        return Way(ANYWHERE, joins)  # nobody has looked into the list: it may hold the other VPC
    block = route.get("DestinationCidrBlock")
    return Way(block, joins) if block else None
