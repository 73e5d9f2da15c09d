"""A VPC whose DHCP options name servers of its own: whoever cannot ask them never registers with Systems Manager."""

from typing import Any

import pytest

from local.cloud import LocalCloud
from local.endpoints import IMAGE
from tests.local.assembly import HOME

SERVER = "10.62.0.53"


@pytest.fixture(scope="module")
def subnet(cloud: LocalCloud) -> str:
    """A subnet whose VPC has a name server of its own."""
    ec2 = cloud.client("ec2", HOME)
    vpc = ec2.create_vpc(CidrBlock="10.62.0.0/16")["Vpc"]["VpcId"]
    servers = [{"Key": "domain-name-servers", "Values": [SERVER]}]
    options = ec2.create_dhcp_options(DhcpConfigurations=servers)["DhcpOptions"]["DhcpOptionsId"]
    ec2.associate_dhcp_options(DhcpOptionsId=options, VpcId=vpc)
    return str(ec2.create_subnet(VpcId=vpc, CidrBlock="10.62.0.0/20")["Subnet"]["SubnetId"])


def test_options_that_every_vpc_begins_with_are_listed(cloud: LocalCloud) -> None:
    ec2 = cloud.client("ec2", HOME)
    vpc = ec2.create_vpc(CidrBlock="10.63.0.0/16")["Vpc"]
    [options] = ec2.describe_dhcp_options(DhcpOptionsIds=[vpc["DhcpOptionsId"]])["DhcpOptions"]
    assert [value["Value"] for entry in options["DhcpConfigurations"] for value in entry["Values"]] == [
        "AmazonProvidedDNS"
    ]


def test_agent_registers_where_a_group_lets_questions_out(cloud: LocalCloud, subnet: str) -> None:
    vpc = cloud.client("ec2", HOME).describe_subnets(SubnetIds=[subnet])["Subnets"][0]["VpcId"]

    def launched(name: str, port: int, cidr: str) -> str:
        ec2 = cloud.client("ec2", HOME)
        group = ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"]
        everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
        ec2.revoke_security_group_egress(GroupId=group, IpPermissions=everything)
        rule = {"IpProtocol": "udp", "FromPort": port, "ToPort": port, "IpRanges": [{"CidrIp": cidr}]}
        ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[rule])
        request: dict[str, Any] = {"ImageId": IMAGE, "InstanceType": "t3.small", "MinCount": 1, "MaxCount": 1}
        answer = ec2.run_instances(**request, SubnetId=subnet, SecurityGroupIds=[group])
        return str(answer["Instances"][0]["InstanceId"])

    # The ones that must not register are launched first, and so would have registered before the last one.
    mute = [launched("other-port", 443, "0.0.0.0/0"), launched("other-server", 53, "10.62.0.54/32")]
    asks = launched("right", 53, f"{SERVER}/32")

    def online() -> list[str]:
        wanted = [{"Key": "InstanceIds", "Values": [*mute, asks]}]
        found = cloud.client("ssm", HOME).describe_instance_information(Filters=wanted)["InstanceInformationList"]
        return [one["InstanceId"] for one in found]

    cloud.wait_for(lambda: asks in online(), 20)
    assert online() == [asks]
