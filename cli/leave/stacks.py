"""The stacks of a deployment, as CloudFormation knows them: what is in them is the deployment's own."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cli.aws import Aws
from cli.doctor.answers import answer_of
from cli.leave.tie import Tie, Ties
from cli.settings import configuration


@dataclass(frozen=True)
class Resource:
    """`kept`: CloudFormation leaves it where it is."""

    region: str
    kind: str
    logical_id: str
    physical_id: str
    kept: bool


@dataclass(frozen=True)
class Stack:
    """One stack; `description` as DescribeStacks has it."""

    region: str
    name: str
    description: dict[str, Any]
    resources: tuple[Resource, ...]


def find_stacks(aws: Aws) -> list[Stack]:
    """Return all stacks in every region of the account: `cdk.json` may have forgotten one."""
    found = [_stack(aws, f"{aws.deployment}-{part}", aws.region) for part in ("control", "tenants")]
    for entry in aws.client("ec2").describe_regions()["Regions"]:
        region = str(entry["RegionName"])
        found.append(_stack(aws, f"{aws.deployment}-region-{region}", region))
    return [stack for stack in found if stack is not None]


def _stack(aws: Aws, name: str, region: str) -> Stack | None:
    client = aws.client("cloudformation", region)
    answer = answer_of(client.describe_stacks, "ValidationError", StackName=name)
    if answer is None:
        return None
    template = client.get_template(StackName=name)["TemplateBody"]["Resources"]
    pages = client.get_paginator("list_stack_resources").paginate(StackName=name)
    resources = tuple(
        Resource(
            region,
            str(item["ResourceType"]),
            str(item["LogicalResourceId"]),
            str(item["PhysicalResourceId"]),
            str(template[item["LogicalResourceId"]].get("DeletionPolicy", "Delete")).startswith("Retain"),
        )
        for page in pages
        for item in page["StackResourceSummaries"]
        if item.get("PhysicalResourceId") and item["LogicalResourceId"] in template
        if item["ResourceStatus"] != "DELETE_COMPLETE"
    )
    return Stack(region, name, answer["Stacks"][0], resources)


def of_kind(stacks: Iterable[Stack], kind: str) -> list[Resource]:
    """Resources of one type, in all stacks."""
    return [resource for stack in stacks for resource in stack.resources if resource.kind == kind]


def stack_ties(aws: Aws, stacks: Iterable[Stack], enrolled: Iterable[str] | None) -> Ties:
    """Stacks that CloudFormation would not delete, or that `cdk destroy --all` does not know."""
    known = {f"{aws.deployment}-control", *(f"{aws.deployment}-region-{region}" for region in enrolled or ())}
    for stack in stacks:
        status = str(stack.description["StackStatus"])
        if status.endswith("_IN_PROGRESS"):
            yield Tie("holds", stack.region, stack.name, f"the stack is {status}", "wait until that is over")
        if stack.description.get("EnableTerminationProtection"):
            update = aws.client("cloudformation", stack.region).update_termination_protection
            undo = partial(update, StackName=stack.name, EnableTerminationProtection=False)
            message = "the stack is protected against termination"
            yield Tie("holds", stack.region, stack.name, message, "the protection is switched off", undo)
        if enrolled is not None and stack.name == f"{aws.deployment}-tenants":
            if not configuration().get("tenants"):
                message = "cdk.json names no tenant, so that cdk destroy --all does not know the stack"
                remedy = f"aws cloudformation delete-stack --region {stack.region} --stack-name {stack.name}"
                yield Tie("holds", stack.region, stack.name, message, remedy)
        elif enrolled is not None and stack.name not in known:
            message = "cdk.json does not name its region, so that cdk destroy --all does not know the stack"
            remedy = f"write {stack.region} into regions again, until the stacks are destroyed"
            yield Tie("holds", stack.region, stack.name, message, remedy)
