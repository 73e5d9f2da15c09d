"""The subnets of one region that relays may be in."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.adapters.ec2 import DEPLOYMENT_TAG
from lambdas.adapters.throttling import is_denied
from lambdas.core.errors import MissingPermission
from lambdas.core.fleet.launch_plan import Subnet

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


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
            found = [item for page in pages for item in page["Subnets"]]
            public = self._public(vpc_id, [item["SubnetId"] for item in found]) if found else set()
        except ClientError as error:
            if is_denied(error):
                raise MissingPermission(f"ec2:DescribeSubnets or ec2:DescribeRouteTables: {error}") from error
            raise
        return [Subnet(item["SubnetId"], item["AvailabilityZone"], item["SubnetId"] in public) for item in found]

    def _public(self, vpc_id: str, subnet_ids: list[str]) -> set[str]:
        """Return the subnets with a route to an internet gateway; one without a route table has the VPC's main one."""
        filters: list[Any] = [{"Name": "vpc-id", "Values": [vpc_id]}]
        pages = self._client.get_paginator("describe_route_tables").paginate(Filters=filters)
        tables = [table for page in pages for table in page["RouteTables"]]
        own = {link["SubnetId"]: table for table in tables for link in table["Associations"] if "SubnetId" in link}
        main = next((table for table in tables if any(link.get("Main") for link in table["Associations"])), None)
        return {subnet for subnet in subnet_ids if _leads_out(own.get(subnet, main))}


def _leads_out(table: Any) -> bool:
    routes = table["Routes"] if table else []
    return any(
        route.get("DestinationCidrBlock") == "0.0.0.0/0" and str(route.get("GatewayId", "")).startswith("igw-")
        for route in routes
    )
