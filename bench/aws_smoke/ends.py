"""The two end machines: launched in the deployment's own subnets, asked by Run Command, terminated."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from bench.aws_smoke.account import Client, SmokeError, outputs
from bench.aws_smoke.options import END_MINUTES, END_TYPE, Options
from lambdas.core.seats.consent import END_TAG

IMAGE = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
TAG = "cpt-smoke"
BOOT_SECONDS, SCRIPT_SECONDS, END_SECONDS = 300.0, 300.0, 300.0
POLL_SECONDS = 2.0
LIVE = ["pending", "running", "stopping", "stopped", "shutting-down"]

T = TypeVar("T")


def wait_for(find: Callable[[], T | None], seconds: float, what: str) -> T:
    """The first true value of `find()`. Raises SmokeError."""
    deadline = time.monotonic() + seconds
    while not (found := find()):
        if time.monotonic() > deadline:
            raise SmokeError(f"{what}: not within {seconds:g} s")
        time.sleep(POLL_SECONDS)  # the APIs have no push
    return found


def launch_request(client: Client, options: Options, region: str, run: str) -> dict[str, Any]:
    """Parameters of RunInstances: nothing comes from a default VPC, which the account may not have."""
    found = outputs(client, f"{options.name}-region-{region}", region)
    image = client("ssm", region).get_parameter(Name=IMAGE)["Parameter"]["Value"]
    tags = [
        {"Key": "Name", "Value": f"{TAG}-{run}"},
        {"Key": TAG, "Value": run},
        {"Key": END_TAG, "Value": options.name},
    ]
    return {
        "ImageId": image,
        "InstanceType": END_TYPE,
        "MinCount": 1,
        "MaxCount": 1,
        "ClientToken": f"{run}-{region}",
        "IamInstanceProfile": {"Name": f"{options.name}-endpoint"},
        "MetadataOptions": {"HttpTokens": "required"},
        # Nobody has to remember them: they terminate themselves.
        "InstanceInitiatedShutdownBehavior": "terminate",
        "UserData": f"#!/bin/sh\nshutdown +{END_MINUTES}\n",
        "NetworkInterfaces": [
            {
                "DeviceIndex": 0,
                "SubnetId": found["SubnetIds"].split(",")[0],
                "Groups": [found["EndpointSecurityGroupId"]],
                "AssociatePublicIpAddress": True,
            }
        ],
        "TagSpecifications": [{"ResourceType": kind, "Tags": tags} for kind in ("instance", "volume")],
    }


def dry_run(client: Client, region: str, request: dict[str, Any]) -> None:
    """Ask EC2 whether it would launch. Raises SmokeError with why not."""
    try:
        client("ec2", region).run_instances(**request, DryRun=True)
    except ClientError as error:
        if error.response["Error"]["Code"] != "DryRunOperation":
            raise SmokeError(f"RunInstances in {region} would fail: {error}") from error
        return
    raise SmokeError(f"RunInstances in {region} launched a machine although DryRun was set")


def wait_online(client: Client, region: str, instance: str) -> None:
    """Wait until the machine takes commands. Raises SmokeError."""
    ssm = client("ssm", region)
    filters = [{"Key": "InstanceIds", "Values": [instance]}]
    wait_for(
        lambda: ssm.describe_instance_information(Filters=filters)["InstanceInformationList"],
        BOOT_SECONDS,
        f"{instance} in {region} in Systems Manager",
    )


def shell(client: Client, region: str, instance: str, script: str) -> str:
    """Run a script on a machine; what it prints. Raises SmokeError."""
    ssm = client("ssm", region)
    sent = ssm.send_command(
        InstanceIds=[instance], DocumentName="AWS-RunShellScript", Parameters={"commands": [script]}
    )
    command = sent["Command"]["CommandId"]

    def ended() -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = ssm.get_command_invocation(CommandId=command, InstanceId=instance)
        except ssm.exceptions.InvocationDoesNotExist:
            return None  # a command that was just sent
        return None if found["Status"] in ("Pending", "InProgress", "Delayed") else found

    found = wait_for(ended, SCRIPT_SECONDS, f"script on {instance}")
    if found["Status"] != "Success":
        raise SmokeError(f"script on {instance}: {found['StatusDetails']}: {found['StandardErrorContent']}")
    return str(found["StandardOutputContent"])


def live(client: Client, region: str, tag: str, value: str) -> list[str]:
    """Machines with a tag that are not terminated."""
    filters = [{"Name": f"tag:{tag}", "Values": [value]}, {"Name": "instance-state-name", "Values": LIVE}]
    answer = client("ec2", region).describe_instances(Filters=filters)
    return [one["InstanceId"] for group in answer["Reservations"] for one in group["Instances"]]


def terminate(client: Client, region: str, run: str) -> None:
    """Terminate the run's machine in a region, and wait for it. Raises SmokeError."""
    if found := live(client, region, TAG, run):
        client("ec2", region).terminate_instances(InstanceIds=found)
    wait_for(lambda: not live(client, region, TAG, run), END_SECONDS, f"termination of {', '.join(found)} in {region}")
