"""Name servers of a VPC's own.

AWS: security groups hold for queries to any name server but the VPC's own resolver. An instance whose DHCP options
name other servers and whose groups do not let port 53 out to one of them resolves nothing, so its agent never
registers with Systems Manager.
Emulator: keeps DHCP options as records that nothing reads, and does not list the default ones.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

from local.instances.fleet import Fleet
from local.instances.model import Instance
from local.patches.ec2.security_groups import EGRESS, rules_of
from local.patches.ec2.wire import Params, Response
from local.patches.upstream import account_id, ec2

DNS = 53
AMAZONS = "AmazonProvidedDNS"
_ALWAYS = "169.254.169.253"
_DEFAULT = "dopt-00000001"
_describe: Any = ec2._ACTION_MAP["DescribeDhcpOptions"]


def install(fleet: Fleet) -> None:
    """Let no agent register that resolves nothing; describe the options that every VPC begins with."""
    fleet.may_register = resolves
    ec2._ACTION_MAP["DescribeDhcpOptions"] = describe


def describe(params: Params) -> Response:
    """DescribeDhcpOptions, with the region's default set."""
    if _DEFAULT not in ec2._dhcp_options:
        servers = [{"Key": "domain-name-servers", "Values": [AMAZONS]}]
        record = {"DhcpOptionsId": _DEFAULT, "DhcpConfigurations": servers, "OwnerId": account_id(), "Tags": []}
        ec2._dhcp_options[_DEFAULT] = record
    answer: Response = _describe(params)
    return answer


def resolves(instance: Instance) -> bool:
    """Return whether the instance reaches a name server over UDP."""
    servers = _servers(instance)
    return not servers or any(server in (AMAZONS, _ALWAYS) or _let_out(instance, server) for server in servers)


def _servers(instance: Instance) -> list[str]:
    """What the DHCP options of its VPC name; empty: Amazon's."""
    here = (instance.account, instance.region)
    record = ec2._instances._data.get((*here, instance.instance_id), {})
    vpc = ec2._vpcs._data.get((*here, record.get("VpcId", "")), {})
    options = ec2._dhcp_options._data.get((*here, vpc.get("DhcpOptionsId", "")), {})
    return [
        str(value)
        for entry in options.get("DhcpConfigurations", [])
        if entry["Key"] == "domain-name-servers"
        for value in entry["Values"]
    ]


def _let_out(instance: Instance, server: str) -> bool:
    return any(
        rule.protocol in ("-1", "udp", "17")
        and (rule.from_port is None or rule.from_port <= DNS <= (rule.to_port or rule.from_port))
        and ip_address(server) in ip_network(rule.cidr)
        for rule in rules_of(instance, EGRESS)
    )
