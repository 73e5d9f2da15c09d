"""What CloudFormation leaves of a stack whose creation fails, and whether the stack can then be created."""

import json
import uuid
from typing import Any

import pytest

from local.cloud import LocalCloud

ANY_TABLE = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}


def create(cloud: LocalCloud, name: str, policy: str, *, fails: bool) -> str:
    """Create a stack with a table and, behind it, a rule of no group; its status."""
    table = {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": policy, "Properties": {"TableName": name, **ANY_TABLE}}
    rule = {"GroupId": "sg-00000000000000000", "IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "CidrIp": "10.0.0.0/8"}
    broken = {"Type": "AWS::EC2::SecurityGroupIngress", "DependsOn": "Table", "Properties": rule}
    resources: dict[str, Any] = {"Table": table, **({"Broken": broken} if fails else {})}
    client = cloud.client("cloudformation")
    client.create_stack(StackName=name, TemplateBody=json.dumps({"Resources": resources}))

    def settled() -> str | None:
        found = str(client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"])
        return None if found.endswith("_IN_PROGRESS") else found

    status = cloud.wait_for(settled, 20)
    if status != "CREATE_COMPLETE":
        identity = client.describe_stacks(StackName=name)["Stacks"][0]["StackId"]
        client.delete_stack(StackName=name)
        deleted = "DELETE_COMPLETE"
        cloud.wait_for(
            lambda: client.describe_stacks(StackName=identity)["Stacks"][0]["StackStatus"] == deleted or None, 20
        )
    return status


@pytest.mark.parametrize(("policy", "then"), [("Retain", False), ("RetainExceptOnCreate", True), ("Delete", True)])
def test_what_a_creation_that_fails_leaves_stands_in_the_way_of_the_next(
    cloud: LocalCloud, policy: str, *, then: bool
) -> None:
    name = f"first-{uuid.uuid4()}"
    assert create(cloud, name, policy, fails=True) == "ROLLBACK_COMPLETE"
    tables = cloud.client("dynamodb").list_tables()["TableNames"]
    assert (name not in tables) is then
    assert (create(cloud, name, policy, fails=False) == "CREATE_COMPLETE") is then
