"""The account's own resources in the deployment's networks and groups."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from cli.aws import Aws
from cli.leave.stacks import Stack, of_kind
from cli.leave.tie import Tie, Ties
from cli.leave.transfers import instances

# What the owner of a network may have added to it: paginator, key of the answer and of the id, in words.
_CONTENTS = (
    ("describe_security_groups", "SecurityGroups", "GroupId", "security group"),
    ("describe_subnets", "Subnets", "SubnetId", "subnet"),
    ("describe_route_tables", "RouteTables", "RouteTableId", "route table"),
    ("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId", "VPC endpoint"),
)


class Network:
    """The groups and, unless it existed before, the VPC of the deployment in one region."""

    def __init__(self, aws: Aws, region: str, stacks: Iterable[Stack]) -> None:
        self._region, self._client = region, aws.client("ec2", region)
        ours = [stack for stack in stacks if stack.region == region]
        self._ours = {resource.physical_id for stack in ours for resource in stack.resources}
        self._groups = [one.physical_id for one in of_kind(ours, "AWS::EC2::SecurityGroup")]
        self._vpcs = [one.physical_id for one in of_kind(ours, "AWS::EC2::VPC")]
        self._relays = {one["InstanceId"] for one in instances(aws, region)} if ours else set()

    def ties(self) -> Ties:
        """Return what EC2 would not delete."""
        for interface in self._interfaces("vpc-id", self._vpcs):
            message = f"{_bearer(interface)} is in the deployment's VPC"
            remedy = "terminate the machine, or delete the interface; neither can move to another VPC"
            yield Tie("holds", self._region, interface["VpcId"], message, remedy)
        for interface in self._interfaces("group-id", self._groups):
            if interface["VpcId"] not in self._vpcs:
                yield from self._worn(interface)
        if self._groups:
            yield from self._referenced()
        for vpc in self._vpcs:
            yield from self._contents(vpc)

    def _interfaces(self, name: str, values: list[str]) -> Iterable[dict[str, Any]]:
        """Return the network interfaces of others."""
        if not values:
            return
        filters = [{"Name": name, "Values": values}]
        for page in self._client.get_paginator("describe_network_interfaces").paginate(Filters=filters):
            for interface in page["NetworkInterfaces"]:
                if interface.get("Attachment", {}).get("InstanceId") not in self._relays:
                    yield interface

    def _worn(self, interface: dict[str, Any]) -> Ties:
        others = [group["GroupId"] for group in interface["Groups"] if group["GroupId"] not in self._groups]
        call = self._client.modify_network_interface_attribute
        undo = partial(call, NetworkInterfaceId=interface["NetworkInterfaceId"], Groups=others)
        for group in interface["Groups"]:
            if group["GroupId"] in self._groups:
                message = f"{_bearer(interface)} has the group {group['GroupName']}"
                if others:
                    remedy = f"the group is taken off it; it keeps {', '.join(others)}"
                    yield Tie("holds", self._region, group["GroupId"], message, remedy, undo)
                else:
                    remedy = "give it a group of your own first: an interface has one at least"
                    yield Tie("holds", self._region, group["GroupId"], message, remedy)

    def _referenced(self) -> Ties:
        for page in self._client.get_paginator("describe_security_group_rules").paginate():
            for rule in page["SecurityGroupRules"]:
                referenced = rule.get("ReferencedGroupInfo", {})
                # A rule of a peered VPC outlives the group that it names.
                if referenced.get("GroupId") not in {*self._groups} - {rule["GroupId"]} or referenced.get(
                    "VpcPeeringConnectionId"
                ):
                    continue
                side = "egress" if rule["IsEgress"] else "ingress"
                revoke = getattr(self._client, f"revoke_security_group_{side}")
                which = {"GroupId": rule["GroupId"], "SecurityGroupRuleIds": [rule["SecurityGroupRuleId"]]}
                message = f"the {side} rule {rule['SecurityGroupRuleId']} of {rule['GroupId']} names the group"
                remedy = "the rule is revoked; the group that has it stays"
                yield Tie("holds", self._region, referenced["GroupId"], message, remedy, partial(revoke, **which))

    def _contents(self, vpc: str) -> Ties:
        filters = [{"Name": "vpc-id", "Values": [vpc]}]
        for operation, key, name, word in _CONTENTS:
            for page in self._client.get_paginator(operation).paginate(Filters=filters):
                for item in page[key]:
                    if item[name] not in self._ours and not _comes_with_a_vpc(item):
                        message = f"the {word} {item[name]} is in the deployment's VPC"
                        yield Tie("holds", self._region, vpc, message, "delete it")


def _comes_with_a_vpc(item: dict[str, Any]) -> bool:
    main = any(association.get("Main") for association in item.get("Associations", []))
    return main or item.get("GroupName") == "default"


def _bearer(interface: dict[str, Any]) -> str:
    machine = interface.get("Attachment", {}).get("InstanceId")
    return f"the machine {machine}" if machine else f"the interface {interface['NetworkInterfaceId']}"
