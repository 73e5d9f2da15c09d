"""Stacks that a test makes and changes by CloudFormation."""

import json
from typing import Any

from local.cloud import LocalCloud


def deployed(cloud: LocalCloud, name: str, kind: str, properties: dict[str, Any]) -> str:
    """The status of a stack, made or updated, whose one resource is this."""
    body = json.dumps({"Resources": {"Only": {"Type": kind, "Properties": properties}}})
    client = cloud.client("cloudformation")
    known = [stack["StackName"] for stack in client.describe_stacks()["Stacks"]]
    (client.update_stack if name in known else client.create_stack)(StackName=name, TemplateBody=body)

    def status() -> str | None:
        [stack] = client.describe_stacks(StackName=name)["Stacks"]
        return None if stack["StackStatus"].endswith("_IN_PROGRESS") else str(stack["StackStatus"])

    return cloud.wait_for(status, 20)
