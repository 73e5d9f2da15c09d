"""CloudFormation deletes a stack as on AWS: not what others have attached, referenced or filled since."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from tests.local.assembly import HOME

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
ALLOW = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:ListQueues", "Resource": "*"}]}
WAIT = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}
Undo = Callable[[], Any]
RESOURCES: dict[str, dict[str, Any]] = {
    "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.88.0.0/16"}},
    "Gateway": {"Type": "AWS::EC2::InternetGateway"},
    "Attached": {
        "Type": "AWS::EC2::VPCGatewayAttachment",
        "Properties": {"VpcId": {"Ref": "Vpc"}, "InternetGatewayId": {"Ref": "Gateway"}},
    },
    "Subnet": {
        "Type": "AWS::EC2::Subnet",
        "DependsOn": "Attached",
        "Properties": {
            "VpcId": {"Ref": "Vpc"},
            "CidrBlock": "10.88.0.0/20",
            "AvailabilityZone": f"{HOME}a",
            "MapPublicIpOnLaunch": True,
        },
    },
    "Group": {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {"VpcId": {"Ref": "Vpc"}, "GroupDescription": "of the stack"},
    },
    "Policy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": ALLOW}},
    "Role": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": TRUST,
            "ManagedPolicyArns": [{"Ref": "Policy"}],
            "Policies": [{"PolicyName": "own", "PolicyDocument": ALLOW}],
        },
    },
    "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
    "Table": {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        },
    },
    "Machine": {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {"DefinitionString": json.dumps(WAIT), "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]}},
    },
}


class Stack:
    """A stack with one of each kind that something can hold fast."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud, self.name = cloud, f"leaving-{uuid.uuid4()}"
        named = {"Bucket": ("AWS::S3::Bucket", "BucketName"), "Bus": ("AWS::Events::EventBus", "Name")}
        more = {key: {"Type": kind, "Properties": {name: self.name}} for key, (kind, name) in named.items()}
        client = cloud.client("cloudformation")
        body = json.dumps({"Resources": {**RESOURCES, **more}})
        client.create_stack(StackName=self.name, TemplateBody=body, Capabilities=["CAPABILITY_IAM"])
        assert self._settled() == "CREATE_COMPLETE"
        found = client.describe_stack_resources(StackName=self.name)["StackResources"]
        self.ids = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}

    def delete(self) -> tuple[str, set[str]]:
        """The status of the stack after a deletion, and what failed in it."""
        client = self.cloud.client("cloudformation")
        identity = client.describe_stacks(StackName=self.name)["Stacks"][0]["StackId"]
        client.delete_stack(StackName=self.name)
        status = self._settled(identity)
        events = client.describe_stack_events(StackName=identity)["StackEvents"]
        failed = [event for event in events if event["ResourceStatus"] == "DELETE_FAILED"]
        assert all(event["ResourceStatusReason"] for event in failed)
        return status, {event["LogicalResourceId"] for event in failed} - {self.name}

    def _settled(self, name: str | None = None) -> str:
        client = self.cloud.client("cloudformation")

        def status() -> str | None:
            found = str(client.describe_stacks(StackName=name or self.name)["Stacks"][0]["StackStatus"])
            return None if found.endswith("_IN_PROGRESS") else found

        return self.cloud.wait_for(status, 20)


@pytest.fixture
def stack(cloud: LocalCloud) -> Stack:
    return Stack(cloud)


def foreign_role(stack: Stack) -> Undo:
    iam, name = stack.cloud.client("iam"), f"{stack.name}-own"[:64]
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))
    which = {"RoleName": name, "PolicyArn": stack.ids["Policy"]}
    iam.attach_role_policy(**which)
    return lambda: iam.detach_role_policy(**which)


def foreign_policy(stack: Stack) -> Undo:
    iam = stack.cloud.client("iam")
    arn = iam.create_policy(PolicyName=f"{stack.name}-own", PolicyDocument=json.dumps(ALLOW))["Policy"]["Arn"]
    which = {"RoleName": stack.ids["Role"], "PolicyArn": arn}
    iam.attach_role_policy(**which)
    return lambda: iam.detach_role_policy(**which)


def inline_policy(stack: Stack) -> Undo:
    iam = stack.cloud.client("iam")
    which = {"RoleName": stack.ids["Role"], "PolicyName": "added-since"}
    iam.put_role_policy(**which, PolicyDocument=json.dumps(ALLOW))
    return lambda: iam.delete_role_policy(**which)


def foreign_profile(stack: Stack) -> Undo:
    iam = stack.cloud.client("iam")
    which = {"InstanceProfileName": f"{stack.name}-own", "RoleName": stack.ids["Role"]}
    iam.create_instance_profile(InstanceProfileName=which["InstanceProfileName"])
    iam.add_role_to_instance_profile(**which)
    return lambda: iam.remove_role_from_instance_profile(**which)


def rule_of_another_group(stack: Stack) -> Undo:
    ec2 = stack.cloud.client("ec2")
    group = ec2.create_security_group(GroupName="own", Description="a user's", VpcId=stack.ids["Vpc"])["GroupId"]
    pairs = [{"GroupId": stack.ids["Group"]}]
    rule = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "UserIdGroupPairs": pairs}
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[rule])
    return lambda: ec2.delete_security_group(GroupId=group)


def route_table(stack: Stack) -> Undo:
    ec2 = stack.cloud.client("ec2")
    table = ec2.create_route_table(VpcId=stack.ids["Vpc"])["RouteTable"]["RouteTableId"]
    return lambda: ec2.delete_route_table(RouteTableId=table)


def endpoint(stack: Stack) -> Undo:
    ec2 = stack.cloud.client("ec2")
    made = ec2.create_vpc_endpoint(VpcId=stack.ids["Vpc"], ServiceName=f"com.amazonaws.{HOME}.s3")["VpcEndpoint"]
    return lambda: ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])


def instance(stack: Stack) -> Undo:
    ec2 = stack.cloud.client("ec2")
    made = ec2.run_instances(
        LaunchTemplate={"LaunchTemplateName": "probe-relay"},
        SubnetId=stack.ids["Subnet"],
        SecurityGroupIds=[stack.ids["Group"]],
        MinCount=1,
        MaxCount=1,
    )["Instances"][0]["InstanceId"]
    here = [{"Name": "subnet-id", "Values": [stack.ids["Subnet"]]}]

    def interfaces() -> list[dict[str, Any]]:
        return list(ec2.describe_network_interfaces(Filters=here)["NetworkInterfaces"])

    stack.cloud.wait_for(lambda: "Association" in interfaces()[0], 10)

    def undo() -> None:
        ec2.terminate_instances(InstanceIds=[made])
        stack.cloud.wait_for(lambda: not interfaces(), 10)

    return undo


def objects(stack: Stack) -> Undo:
    s3 = stack.cloud.client("s3")
    s3.put_object(Bucket=stack.name, Key="a", Body=b"data")
    return lambda: s3.delete_object(Bucket=stack.name, Key="a")


def protection(stack: Stack) -> Undo:
    dynamodb, table = stack.cloud.client("dynamodb"), stack.ids["Table"]
    dynamodb.update_table(TableName=table, DeletionProtectionEnabled=True)
    return lambda: dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)


def rule_of_the_bus(stack: Stack) -> Undo:
    events = stack.cloud.client("events")
    events.put_rule(Name="own", EventBusName=stack.name, EventPattern='{"source": ["x"]}')
    return lambda: events.delete_rule(Name="own", EventBusName=stack.name)


def execution(stack: Stack) -> Undo:
    states = stack.cloud.client("stepfunctions")
    arn = states.start_execution(stateMachineArn=stack.ids["Machine"])["executionArn"]
    return lambda: states.stop_execution(executionArn=arn)


@pytest.mark.parametrize(
    ("holds", "failed"),
    [
        (foreign_role, {"Policy"}),
        (foreign_policy, {"Role"}),
        (inline_policy, {"Role"}),
        (foreign_profile, {"Role"}),
        (rule_of_another_group, {"Group", "Vpc"}),
        (route_table, {"Vpc"}),
        (endpoint, {"Vpc"}),
        (instance, {"Group", "Subnet", "Attached", "Vpc"}),
        (objects, {"Bucket"}),
        (protection, {"Table"}),
        (rule_of_the_bus, {"Bus"}),
        (execution, {"Machine"}),
    ],
)
def test_what_is_held_fast_fails_by_name_and_goes_once_it_is_let_go(
    stack: Stack, holds: Callable[[Stack], Undo], failed: set[str]
) -> None:
    undo = holds(stack)
    assert stack.delete() == ("DELETE_FAILED", failed)
    undo()
    assert stack.delete()[0] == "DELETE_COMPLETE"


def test_interfaces_are_listed_by_group_and_keep_one_group_at_least(cloud: LocalCloud, stack: Stack) -> None:
    ec2 = cloud.client("ec2")
    undo = instance(stack)
    mine = [{"Name": "group-id", "Values": [stack.ids["Group"]]}]
    (interface,) = ec2.describe_network_interfaces(Filters=mine)["NetworkInterfaces"]
    assert interface["VpcId"] == stack.ids["Vpc"]
    with pytest.raises(ClientError, match="InvalidParameterCombination"):
        ec2.modify_network_interface_attribute(NetworkInterfaceId=interface["NetworkInterfaceId"], Groups=[])
    other = ec2.create_security_group(GroupName="other", Description="a user's", VpcId=stack.ids["Vpc"])["GroupId"]
    ec2.modify_network_interface_attribute(NetworkInterfaceId=interface["NetworkInterfaceId"], Groups=[other])
    assert ec2.describe_network_interfaces(Filters=mine)["NetworkInterfaces"] == []
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        ec2.describe_network_interfaces(Filters=[{"Name": "groups", "Values": ["x"]}])
    undo()
    ec2.delete_security_group(GroupId=other)
    assert stack.delete()[0] == "DELETE_COMPLETE"
