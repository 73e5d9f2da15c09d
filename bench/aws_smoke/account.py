"""The account: who calls, what they may do, what is deployed."""

import subprocess
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

Client = Callable[..., Any]
ACTIONS = [
    "cloudformation:DescribeStacks",
    "ec2:DescribeInstances",
    "ec2:RunInstances",
    "ec2:TerminateInstances",
    "iam:PassRole",
    "ssm:GetParameter",
    "ssm:SendCommand",
    "states:StartExecution",
    "states:StopExecution",
]
DEPLOYING = ["cloudformation:CreateChangeSet", "cloudformation:DeleteStack", "sts:AssumeRole"]


class SmokeError(Exception):
    """A step failed; the message says which, and what to do."""


def principal_of(caller: str, role_arn: Callable[[str], str]) -> str | None:
    """Whom IAM is to simulate for the ARN of a caller; None for the root user, whom it cannot and who may do all.

    The ARN of a session has the role's name without its path, which `role_arn` knows.
    """
    kind, _, name = caller.split(":", 5)[5].partition("/")
    if kind == "root":
        return None
    if kind == "assumed-role":
        return role_arn(name.split("/")[0])
    if kind == "user":
        return caller
    raise SmokeError(f"credentials of {caller}: permissions of a {kind} cannot be simulated; use a role or a user")


def check_permissions(client: Client, *, deploys: bool) -> str:
    """Simulate what the run needs; a line that says of whom. Raises SmokeError with what is denied."""
    iam = client("iam")
    caller = client("sts").get_caller_identity()["Arn"]

    def role_arn(name: str) -> str:
        return str(iam.get_role(RoleName=name)["Role"]["Arn"])

    try:
        principal = principal_of(caller, role_arn)
        if principal is None:
            return "root, whose permissions are not simulated"
        wanted = ACTIONS + (DEPLOYING if deploys else [])
        results = iam.simulate_principal_policy(PolicySourceArn=principal, ActionNames=wanted)["EvaluationResults"]
    except ClientError as error:
        raise SmokeError(
            f"permissions of {caller}: {error}; use credentials that may iam:GetRole and iam:SimulatePrincipalPolicy"
        ) from error
    denied = [result["EvalActionName"] for result in results if result["EvalDecision"] != "allowed"]
    if denied:
        raise SmokeError(f"{principal} may not {', '.join(denied)}; use credentials that may")
    return str(principal)


def outputs(client: Client, stack: str, region: str) -> dict[str, str]:
    """Outputs of a stack. Raises SmokeError where it is not deployed."""
    try:
        (found,) = client("cloudformation", region).describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        raise SmokeError(f"stack {stack} in {region}: {error}; deploy it, or leave out --deployed") from error
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}


def stacks_of(client: Client, name: str, home: str, regions: tuple[str, ...]) -> list[str]:
    """Which of the deployment's stacks exist, as `STACK in REGION`."""
    wanted = [(f"{name}-control", home), *((f"{name}-region-{region}", region) for region in regions)]
    found = []
    for stack, region in wanted:
        try:
            client("cloudformation", region).describe_stacks(StackName=stack)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ValidationError":
                raise
            continue
        found.append(f"{stack} in {region}")
    return found


def cdk(*arguments: str, to_the_end: bool = False) -> None:
    """Run the CDK, which a terminal's Ctrl-C ends too unless `to_the_end`. Raises SmokeError."""
    # What `make synth` has made: `cdk destroy` would synthesize without bundling, and leave functions without packages.
    command = ["npx", "--no-install", "cdk", *arguments, "--all", "--app", "cdk.out"]
    if subprocess.run(command, check=False, start_new_session=to_the_end).returncode:
        raise SmokeError(f"{' '.join(command)} failed; its output is above")
