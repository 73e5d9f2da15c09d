"""Network interfaces, and what cannot be deleted while some are there.

AWS: each instance has an interface until it is terminated. A group that an interface carries or that a rule of another
group of its VPC names, a subnet with an interface, and a VPC with any of these, with route tables or with endpoints are
refused with DependencyViolation; an internet gateway is not detached while an interface has a public address. An
interface has one group at least.
Emulator: lists only interfaces that were made by themselves, all of them whatever the filters, cannot change their
groups, and deletes what they use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local.instances.fleet import Fleet
from local.patches.ec2.security_groups import SIDES, apply_where_named
from local.patches.ec2.wire import Params, Response, answer, document, filters_of, matches, members, parameter, refuse
from local.patches.upstream import ec2

FILTERS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "network-interface-id": lambda interface: [interface["NetworkInterfaceId"]],
    "subnet-id": lambda interface: [interface["SubnetId"]],
    "vpc-id": lambda interface: [interface["VpcId"]],
    "group-id": lambda interface: [group["GroupId"] for group in interface["Groups"]],
}


def install(fleet: Fleet) -> None:
    """List instances' interfaces too; refuse what AWS refuses."""
    interfaces = Interfaces(fleet)
    ec2._ACTION_MAP["DescribeNetworkInterfaces"] = interfaces.describe
    ec2._ACTION_MAP["ModifyNetworkInterfaceAttribute"] = interfaces.modify
    for action, why in {
        "DeleteSecurityGroup": group_in_use,
        "DeleteSubnet": subnet_in_use,
        "DeleteVpc": vpc_in_use,
        "DetachInternetGateway": addresses_in_use,
    }.items():
        ec2._ACTION_MAP[action] = _unless(why, ec2._ACTION_MAP[action])


def present() -> list[dict[str, Any]]:
    """Every interface of the region, as EC2 describes it."""
    alone = [{key: value for key, value in eni.items() if value} for eni in ec2._network_interfaces.values()]
    return alone + [_of_instance(one) for one in ec2._instances.values() if one["State"]["Name"] != "terminated"]


class Interfaces:
    """Actions on interfaces of the fleet's instances, and on those that stand alone."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def describe(self, params: Params) -> Response:
        """DescribeNetworkInterfaces."""
        filters = filters_of(params)
        for name in filters:
            if name not in FILTERS:
                return refuse("InvalidParameterValue", f"The filter '{name}' is invalid")
        ids = members(params, "NetworkInterfaceId")
        found = [
            interface
            for interface in present()
            if (not ids or interface["NetworkInterfaceId"] in ids)
            and all(
                any(matches(wanted, has) for has in FILTERS[name](interface) for wanted in values)
                for name, values in filters.items()
            )
        ]
        if missing := set(ids) - {interface["NetworkInterfaceId"] for interface in found}:
            return _unknown(", ".join(missing))
        return document("DescribeNetworkInterfaces", {"NetworkInterfaces": found})

    def modify(self, params: Params) -> Response:
        """ModifyNetworkInterfaceAttribute: only the groups."""
        wanted, interface_id = members(params, "SecurityGroupId"), parameter(params, "NetworkInterfaceId")
        interface = next((one for one in present() if one["NetworkInterfaceId"] == interface_id), None)
        if interface is None:
            return refuse(
                "InvalidNetworkInterfaceID.NotFound", f"The networkInterface ID {interface_id} does not exist"
            )
        if not wanted:
            return refuse("InvalidParameterCombination", "No attributes specified.")
        for group_id in wanted:
            if ec2._security_groups.get(group_id, {}).get("VpcId") != interface["VpcId"]:
                return refuse("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
        groups = [{"GroupId": one, "GroupName": ec2._security_groups[one]["GroupName"]} for one in wanted]
        instance_id = interface.get("Attachment", {}).get("InstanceId")
        if instance_id is None:
            ec2._network_interfaces[interface_id]["Groups"] = groups
        else:
            changed = {group["GroupId"] for group in (*interface["Groups"], *groups)}
            ec2._instances[instance_id]["SecurityGroups"] = groups
            instance = self._fleet.get(instance_id)
            if instance is not None:
                apply_where_named(self._fleet, instance, changed)
        return answer("ModifyNetworkInterfaceAttribute", "<return>true</return>")


def group_in_use(params: Params) -> str | None:
    """Why a group cannot be deleted; None where it can."""
    group_id = parameter(params, "GroupId")
    named = any(
        pair.get("GroupId") == group_id
        for other in ec2._security_groups.values()
        if other["GroupId"] != group_id and other["VpcId"] == ec2._security_groups.get(group_id, other)["VpcId"]
        for side in SIDES
        for rule in other[side]
        for pair in rule.get("UserIdGroupPairs") or []
    )
    worn = any(group["GroupId"] == group_id for interface in present() for group in interface["Groups"])
    return f"resource {group_id} has a dependent object" if named or worn else None


def subnet_in_use(params: Params) -> str | None:
    """Why a subnet cannot be deleted; None where it can."""
    subnet = parameter(params, "SubnetId")
    return _dependencies("subnet", subnet) if any(one["SubnetId"] == subnet for one in present()) else None


def vpc_in_use(params: Params) -> str | None:
    """Why a VPC cannot be deleted; None where it can. Its main route table goes with it."""
    vpc = parameter(params, "VpcId")
    main = ec2._vpcs.get(vpc, {}).get("MainRouteTableId")
    others = [table for table in ec2._route_tables.values() if table["RouteTableId"] != main]
    if any(one["VpcId"] == vpc for one in [*present(), *others, *ec2._vpc_endpoints.values()]):
        return _dependencies("vpc", vpc)
    return None


def addresses_in_use(params: Params) -> str | None:
    """Why a gateway cannot be detached; None where it can."""
    vpc = parameter(params, "VpcId")
    if any(interface["VpcId"] == vpc and "Association" in interface for interface in present()):
        return f"Network {vpc} has some mapped public address(es). Please unmap those before detaching the gateway."
    return None


def _unknown(interfaces: str) -> Response:
    return refuse("InvalidNetworkInterfaceID.NotFound", f"The networkInterface ID '{interfaces}' does not exist")


def _dependencies(kind: str, name: str) -> str:
    return f"The {kind} '{name}' has dependencies and cannot be deleted."


def _unless(why: Callable[[Params], str | None], original: Callable[[Params], Response]) -> Any:
    def handle(params: Params) -> Response:
        reason = why(params)
        return refuse("DependencyViolation", reason) if reason else original(params)

    return handle


def _of_instance(record: dict[str, Any]) -> dict[str, Any]:
    public = record["PublicIpAddress"]
    return {
        "NetworkInterfaceId": f"eni-{record['InstanceId'][2:]}",
        "SubnetId": record["SubnetId"],
        "VpcId": record["VpcId"],
        "Status": "in-use",
        "InterfaceType": "interface",
        "PrivateIpAddress": record["PrivateIpAddress"],
        "Groups": record["SecurityGroups"],
        "Attachment": {"InstanceId": record["InstanceId"], "DeviceIndex": 0, "Status": "attached"},
        **({"Association": {"PublicIp": public}} if public else {}),
    }
