"""The network that relays of a region are launched into: enrolled subnets, and name servers that they may ask."""

from collections.abc import Collection, Iterable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from cli.aws import Aws
from cli.doctor.answers import answer_of
from cli.doctor.finding import Finding, Findings, failed, looked, ok, warning

# What DHCP options say for the VPC's own resolver, which security groups do not keep away.
AMAZONS = ("AmazonProvidedDNS", "169.254.169.253")
DNS = 53


class Network:
    """One enrolled region; `enrolled`: ids of subnets from cdk.json, none where the deployment makes its own."""

    def __init__(self, aws: Aws, region: str, enrolled: Collection[str]) -> None:
        self._aws, self._region, self._enrolled = aws, region, enrolled
        self._ec2 = aws.client("ec2", region)

    def looked_at(self) -> Findings:
        """Look at what relays need before they say a word."""
        if self._enrolled:
            yield from looked("subnets", self._region, self._subnets)
        yield from looked("names", self._region, self._names)

    def _subnets(self) -> Findings:
        # By filter, since one id that is not there would fail the call.
        ids = [{"Name": "subnet-id", "Values": list(self._enrolled)}]
        found = self._ec2.describe_subnets(Filters=ids)["Subnets"]
        owners = {subnet["SubnetId"]: subnet["OwnerId"] for subnet in found}
        account = self._aws.client("sts").get_caller_identity()["Account"]
        yield judge_subnets(self._region, self._enrolled, owners, account)

    def _names(self) -> Findings:
        name = f"{self._aws.deployment}-relay"
        where = [{"Name": "group-name", "Values": [name]}]
        groups = self._ec2.describe_security_groups(Filters=where)["SecurityGroups"]
        if not groups:
            remedy = f"npx cdk deploy {self._aws.deployment}-region-{self._region} --force"
            yield failed("names", self._region, f"there is no security group {name}", remedy)
            return
        [vpc] = self._ec2.describe_vpcs(VpcIds=[groups[0]["VpcId"]])["Vpcs"]
        call, options = self._ec2.describe_dhcp_options, vpc["DhcpOptionsId"]
        found = answer_of(call, "InvalidDhcpOption", DhcpOptionsIds=[options])
        if not found or not found["DhcpOptions"]:
            remedy = f"ask account {vpc['OwnerId']}, which owns the VPC, which name servers its DHCP options have"
            yield warning("names", self._region, f"the options {options} of {vpc['VpcId']} are not shown", remedy)
            return
        servers = servers_of(found["DhcpOptions"][0])
        yield judge_names(self._region, vpc, servers, groups[0]["IpPermissionsEgress"])


def servers_of(options: Mapping[str, Any]) -> list[str]:
    """Name servers of a set of DHCP options."""
    entries = [entry for entry in options["DhcpConfigurations"] if entry["Key"] == "domain-name-servers"]
    return [value["Value"] for entry in entries for value in entry["Values"]]


def judge_subnets(region: str, enrolled: Iterable[str], owners: Mapping[str, str], account: str) -> Finding:
    """`owners`: accounts of the subnets that EC2 shows; `account`: the deployment's own."""
    missing = [subnet for subnet in enrolled if subnet not in owners]
    if missing:
        remedy = f"correct regions.{region}.subnetIds in cdk.json; or have their owner share them with {account} again"
        return warning("subnets", region, f"EC2 does not show {', '.join(missing)} to this account", remedy)
    shared = {subnet: owner for subnet, owner in owners.items() if owner != account}
    said = f"; account {', '.join(sorted(set(shared.values())))} shares {', '.join(shared)}" if shared else ""
    return ok("subnets", region, f"all {len(owners)} that are enrolled are there{said}")


def judge_names(region: str, vpc: Mapping[str, Any], servers: list[str], egress: list[dict[str, Any]]) -> Finding:
    """`egress`: what the relays' security group lets out."""
    own = str(ip_network(vpc["CidrBlock"])[2])
    kept = [server for server in servers if server not in (*AMAZONS, own) and not _let_out(server, egress)]
    if servers and not kept:
        return ok("names", region, f"relays may ask {', '.join(servers)}")
    if not servers:
        remedy = "give the VPC DHCP options with AmazonProvidedDNS, or with name servers of your own"
        return failed("names", region, f"the DHCP options of {vpc['VpcId']} name no name server", remedy)
    what = f"the DHCP options of {vpc['VpcId']} name {', '.join(kept)}, which no security group lets machines ask"
    remedy = f"list them as regions.{region}.nameServers in cdk.json, and deploy"
    if len(kept) < len(servers):
        return warning("names", region, what, remedy)
    return failed("names", region, f"{what}: relays never come online", remedy)


def _let_out(server: str, egress: list[dict[str, Any]]) -> bool:
    """Return whether questions may go to it over both UDP and TCP."""
    if ip_address(server).version != 4:
        return False
    return all(any(_matches(rule, protocol, server) for rule in egress) for protocol in ("udp", "tcp"))


def _matches(rule: dict[str, Any], protocol: str, server: str) -> bool:
    if rule["IpProtocol"] not in ("-1", protocol):
        return False
    ports = rule["IpProtocol"] == "-1" or rule["FromPort"] <= DNS <= rule["ToPort"]
    return ports and any(ip_address(server) in ip_network(one["CidrIp"]) for one in rule["IpRanges"])
