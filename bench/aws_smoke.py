"""`make aws-smoke`: the first run on real AWS. Opt-in; NEVER RUN SO FAR (no account was at hand when it was written).

Needs credentials, a bootstrapped account (`npx cdk bootstrap`) and `ARGS='--yes --max-cost-usd 1'`.
In this order, stopping at the first failure: permission simulation, a dry run of RunInstances in every region,
`cdk deploy --all`, two small VMs, 1 GB through one relay pair, comparison by sha256sum, termination of the VMs.
`--destroy` removes the stacks at the end.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any, Final

import boto3
from botocore.exceptions import ClientError, WaiterError

from bench.results import Result, publish
from cli.aws import configuration

END_TYPE: Final = "t3.small"
SIZE_BYTES = 1_000_000_000
# Two t3.small (2 × $0.023) and two relays (2 × $0.127) for an hour, 1 GB out ($0.02), four addresses: under $0.40.
COST_BOUND_USD = 0.40
ACTIONS = [
    "ec2:RunInstances",
    "ec2:TerminateInstances",
    "ssm:SendCommand",
    "states:StartExecution",
    "cloudformation:CreateStack",
    "iam:PassRole",
]


def main() -> int:
    """Run all steps; the exit code tells whether the transfer succeeded and both sums agree."""
    arguments = _arguments()
    settings = configuration()
    home: str = settings["homeRegion"]
    other = next(region for region in settings["regions"] if region != home)
    _simulate_permissions()
    for region in (home, other):
        _dry_run(region)
    subprocess.run(["npx", "--no-install", "cdk", "deploy", "--all", "--require-approval", "never"], check=True)
    ends = {region: _launch(region) for region in (home, other)}
    try:
        seconds, equal = _transfer(home, other, ends)
    finally:
        for region, instance in ends.items():
            boto3.client("ec2", region_name=region).terminate_instances(InstanceIds=[instance])
        if arguments.destroy:
            subprocess.run(["npx", "--no-install", "cdk", "destroy", "--all", "--force"], check=False)
    results = [
        Result("1 GB through one pair", seconds, "s"),
        Result("sha256sum equal", float(equal), "", bar=1, better="higher"),
    ]
    return publish("aws-smoke", results, "make aws-smoke")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make aws-smoke ARGS=…", description=__doc__)
    parser.add_argument("--yes", action="store_true", help="I know that this spends money on my account")
    parser.add_argument(
        "--max-cost-usd", type=float, default=0.0, help=f"refuse if the bound (${COST_BOUND_USD:.2f}) is above this"
    )
    parser.add_argument("--destroy", action="store_true", help="destroy the stacks afterwards")
    arguments = parser.parse_args()
    if not arguments.yes or arguments.max_cost_usd < COST_BOUND_USD:
        parser.error(
            f"this starts instances for up to ${COST_BOUND_USD:.2f}; say --yes --max-cost-usd {COST_BOUND_USD:.2f}"
        )
    return arguments


def _simulate_permissions() -> None:
    caller = boto3.client("sts").get_caller_identity()["Arn"]
    if ":assumed-role/" in caller:
        account, role = caller.split(":")[4], caller.split("/")[1]
        caller = f"arn:aws:iam::{account}:role/{role}"
    answer = boto3.client("iam").simulate_principal_policy(PolicySourceArn=caller, ActionNames=ACTIONS)
    denied = [r["EvalActionName"] for r in answer["EvaluationResults"] if r["EvalDecision"] != "allowed"]
    if denied:
        raise SystemExit(f"aws-smoke: {caller} may not {', '.join(denied)}; use credentials that may")


def _image(region: str) -> str:
    name = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
    return str(boto3.client("ssm", region_name=region).get_parameter(Name=name)["Parameter"]["Value"])


def _dry_run(region: str) -> None:
    try:
        boto3.client("ec2", region_name=region).run_instances(
            ImageId=_image(region), InstanceType=END_TYPE, MinCount=1, MaxCount=1, DryRun=True
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "DryRunOperation":
            raise SystemExit(f"aws-smoke: RunInstances in {region}: {error}") from error


def _outputs(stack: str, region: str) -> dict[str, str]:
    described = boto3.client("cloudformation", region_name=region).describe_stacks(StackName=stack)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}


def _launch(region: str) -> str:
    outputs = _outputs(f"cpt-region-{region}", region)
    ec2 = boto3.client("ec2", region_name=region)
    instance: str = ec2.run_instances(
        ImageId=_image(region),
        InstanceType=END_TYPE,
        MinCount=1,
        MaxCount=1,
        IamInstanceProfile={"Name": "cpt-endpoint"},
        MetadataOptions={"HttpTokens": "required"},
        NetworkInterfaces=[
            {
                "DeviceIndex": 0,
                "SubnetId": outputs["SubnetIds"].split(",")[0],
                "Groups": [outputs["EndpointSecurityGroupId"]],
                "AssociatePublicIpAddress": True,
            }
        ],
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "cpt-smoke"}]}],
    )["Instances"][0]["InstanceId"]
    ec2.get_waiter("instance_running").wait(InstanceIds=[instance])
    ssm = boto3.client("ssm", region_name=region)
    deadline = time.monotonic() + 300
    while not ssm.describe_instance_information(Filters=[{"Key": "InstanceIds", "Values": [instance]}])[
        "InstanceInformationList"
    ]:
        if time.monotonic() > deadline:
            raise SystemExit(f"aws-smoke: {instance} in {region}: no Systems Manager within 300 s")
        time.sleep(5)
    return instance


def _shell(region: str, instance: str, script: str) -> str:
    ssm = boto3.client("ssm", region_name=region)
    command = ssm.send_command(
        InstanceIds=[instance], DocumentName="AWS-RunShellScript", Parameters={"commands": [script]}
    )["Command"]["CommandId"]
    try:
        ssm.get_waiter("command_executed").wait(
            CommandId=command, InstanceId=instance, WaiterConfig={"Delay": 3, "MaxAttempts": 100}
        )
    except WaiterError as error:
        output = ssm.get_command_invocation(CommandId=command, InstanceId=instance)
        raise SystemExit(f"aws-smoke: {script!r} on {instance}: {output['StandardErrorContent']}") from error
    return str(ssm.get_command_invocation(CommandId=command, InstanceId=instance)["StandardOutputContent"])


def _transfer(home: str, other: str, ends: dict[str, str]) -> tuple[float, bool]:
    _shell(home, ends[home], f"mkdir -p /data && head -c {SIZE_BYTES} /dev/urandom > /data/file")
    request: dict[str, Any] = {
        "source": {"instanceId": ends[home], "region": home, "paths": ["/data"]},
        "destination": {"instanceId": ends[other], "region": other, "path": "/incoming"},
        "relays": {"pairs": 1},
        "preTest": False,
    }
    states = boto3.client("stepfunctions", region_name=home)
    machine = _outputs("cpt-control", home)["StateMachineArn"]
    arn = states.start_execution(stateMachineArn=machine, input=json.dumps(request))["executionArn"]
    while (execution := states.describe_execution(executionArn=arn))["status"] == "RUNNING":
        time.sleep(5)
    if execution["status"] != "SUCCEEDED":
        raise SystemExit(f"aws-smoke: {execution['status']}: {execution.get('error')}: {execution.get('cause')}")
    sums = [
        _shell(home, ends[home], "sha256sum < /data/file"),
        _shell(other, ends[other], "sha256sum < /incoming/data/file"),
    ]
    return float(json.loads(execution["output"])["seconds"]["transfer"]), sums[0] == sums[1]


if __name__ == "__main__":
    sys.exit(main())
