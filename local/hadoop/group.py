"""The security group by which the machines of a cluster speak with each other, as those of an EMR do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from botocore.exceptions import ClientError

EVERYTHING = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}


@contextlib.contextmanager
def joined(ec2: Any, name: str, instance_ids: Sequence[str]) -> Iterator[str]:
    """Id of a group of the instances' VPC that admits itself both ways, and nobody else; the instances carry it too.

    At the end those that are still there have lost it, and the group is gone. Raises ClientError.
    """
    interfaces = _interfaces(ec2, instance_ids)
    vpc = interfaces[0]["VpcId"]
    group = ec2.create_security_group(GroupName=name, Description="machines of a Hadoop", VpcId=vpc)["GroupId"]
    itself = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    ec2.revoke_security_group_egress(GroupId=group, IpPermissions=[EVERYTHING])
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[itself])
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[itself])
    try:
        for interface in interfaces:
            _carry(ec2, interface, {*_groups(interface), group})
        yield group
    finally:
        with contextlib.suppress(ClientError):  # the cloud may have gone, and instances with it
            for interface in _interfaces(ec2, instance_ids):
                _carry(ec2, interface, {*_groups(interface)} - {group})
            ec2.delete_security_group(GroupId=group)


def _interfaces(ec2: Any, instance_ids: Sequence[str]) -> list[dict[str, Any]]:
    found = ec2.describe_network_interfaces()["NetworkInterfaces"]
    return [one for one in found if one.get("Attachment", {}).get("InstanceId") in instance_ids]


def _groups(interface: dict[str, Any]) -> list[str]:
    return [group["GroupId"] for group in interface["Groups"]]


def _carry(ec2: Any, interface: dict[str, Any], groups: set[str]) -> None:
    ec2.modify_network_interface_attribute(NetworkInterfaceId=interface["NetworkInterfaceId"], Groups=sorted(groups))
