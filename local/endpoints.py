"""End machines of transfers on the local cloud: launched through the plain EC2 API, as an operator would."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

Client = Callable[[str, str], Any]

GROUP = "cpt-endpoint"
PROFILE = "cpt-endpoint"
CONSENT = {"Key": "cpt:end", "Value": "cpt"}
ROLE = "local-vm"
IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


class ControlError(Exception):
    """The emulator's own control interface refused a request."""


def launch(client: Client, region: str, name: str, instance_type: str, zone: str = "") -> str:
    """RunInstances in the enrolled VPC with the endpoint group and an instance profile with the endpoint policy.

    `zone`: one of the enrolled subnets' availability zones; empty for the first.
    """
    ec2 = client("ec2", region)
    interface: dict[str, Any] = {"DeviceIndex": 0, "AssociatePublicIpAddress": True}
    if found := _network(ec2, zone):
        interface |= {"SubnetId": found[0], "Groups": [found[1]]}
    profile = endpoint_profile(client("iam", region))
    answer = ec2.run_instances(
        ImageId=IMAGE,
        InstanceType=instance_type,
        MinCount=1,
        MaxCount=1,
        NetworkInterfaces=[interface],
        IamInstanceProfile={"Arn": profile},
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": name}, CONSENT]}],
    )
    return str(answer["Instances"][0]["InstanceId"])


def launch_cluster(
    client: Client, region: str, name: str, *, core: int, task: int = 0, instance_type: str = "t3.small", zone: str = ""
) -> str:
    """RunJobFlow of a cluster of EMR whose core and task instances can be ends of transfers; its id."""
    found = _network(client("ec2", region), zone)
    counts = {"MASTER": 1, "CORE": core, "TASK": task}
    instances: dict[str, Any] = {
        "KeepJobFlowAliveWhenNoSteps": True,
        "InstanceGroups": [
            {"InstanceRole": role, "InstanceType": instance_type, "InstanceCount": count}
            for role, count in counts.items()
            if count
        ],
    }
    if found:
        instances |= {"Ec2SubnetId": found[0], "AdditionalSlaveSecurityGroups": [found[1]]}
    answer = client("emr", region).run_job_flow(
        Name=name,
        ReleaseLabel="emr-7.9.0",
        Instances=instances,
        JobFlowRole=endpoint_profile(client("iam", region)).rsplit("/", 1)[-1],
        ServiceRole="EMR_DefaultRole",
        Tags=[CONSENT],
    )
    return str(answer["JobFlowId"])


def _network(ec2: Any, zone: str) -> tuple[str, str] | None:
    """Subnet and group of the enrolled VPC; None where there is none."""
    groups = ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": [GROUP]}])["SecurityGroups"]
    if not groups:
        return None
    network = [{"Name": "vpc-id", "Values": [groups[0]["VpcId"]]}]
    subnets = sorted(ec2.describe_subnets(Filters=network)["Subnets"], key=lambda item: item["AvailabilityZone"])
    subnet = next(one for one in subnets if one["AvailabilityZone"].startswith(zone))
    return str(subnet["SubnetId"]), str(groups[0]["GroupId"])


def endpoint_profile(iam: Any) -> str:
    """ARN of the deployment's instance profile for ends; without a deployment, of one without permissions."""
    for name in (PROFILE, ROLE):
        try:
            return str(iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Arn"])
        except iam.exceptions.NoSuchEntityException:
            continue
    iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=json.dumps(TRUST))
    arn = iam.create_instance_profile(InstanceProfileName=ROLE)["InstanceProfile"]["Arn"]
    iam.add_role_to_instance_profile(InstanceProfileName=ROLE, RoleName=ROLE)
    return str(arn)


def control(endpoint: str, action: str, body: bytes) -> None:
    """Ask the emulator for something that AWS has no API for. Raises ControlError."""
    request = urllib.request.Request(f"{endpoint}/_local/{action}", data=body, method="POST")  # noqa: S310 - loopback
    try:
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310
    except urllib.error.HTTPError as error:
        raise ControlError(f"{action}: {error.read().decode(errors='replace')}") from error


def calls(endpoint: str) -> dict[str, float]:
    """Return what the emulator has counted so far of what AWS would charge for."""
    with urllib.request.urlopen(f"{endpoint}/_local/calls", timeout=30) as answer:  # noqa: S310 - loopback
        counts: dict[str, float] = json.load(answer)
    return counts
