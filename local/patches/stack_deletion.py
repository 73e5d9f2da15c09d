"""The reasons for which CloudFormation does not delete a resource of a stack.

AWS: CloudFormation calls each service's own deletion, after it has taken out what the template itself had put in. What
others have attached, referenced or filled since is refused by the service: the resource is DELETE_FAILED, and with it
the stack.
Emulator: removes the records, whatever uses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from local.patches.replace import override
from local.patches.upstream import dynamodb, ec2, eventbridge, iam, provisioners, s3, stepfunctions

Properties = dict[str, Any]
Delete = Callable[[str, Properties], None]


def install() -> None:
    """Ask before each of these types is deleted."""
    handlers = provisioners._RESOURCE_HANDLERS
    handlers["AWS::IAM::ManagedPolicy"]["delete"] = _managed_policy
    handlers["AWS::IAM::Role"]["delete"] = _role
    handlers["AWS::S3::Bucket"]["delete"] = lambda name, properties: _refusing(name, s3._delete_bucket(name))
    for kind, why in {
        "AWS::DynamoDB::Table": _protected,
        "AWS::Events::EventBus": _has_rules,
        "AWS::StepFunctions::StateMachine": _has_executions,
    }.items():
        handlers[kind]["delete"] = _unless(why, handlers[kind]["delete"])
    for kind, action, key in (
        ("AWS::EC2::SecurityGroup", "DeleteSecurityGroup", "GroupId"),
        ("AWS::EC2::Subnet", "DeleteSubnet", "SubnetId"),
    ):
        handlers[kind]["delete"] = _by_call(action, key)
    detach = handlers["AWS::EC2::VPCGatewayAttachment"]
    detach["delete"] = _detaching(detach["delete"])
    # `_ec2_vpc_delete` calls the function itself, not the action that is patched.
    override(ec2, _delete_vpc=ec2._ACTION_MAP["DeleteVpc"])


def _managed_policy(arn: str, properties: Properties) -> None:
    provisioners._iam_policy_reconcile_entities(arn, properties, {})
    _refusing(arn, iam._delete_policy({"PolicyArn": [arn]}))


def _role(name: str, properties: Properties) -> None:
    role = iam._roles.get(name)
    if role is None:
        return
    for arn in properties.get("ManagedPolicyArns") or []:
        if arn in role["AttachedPolicies"]:
            iam.detach_managed_policy(role, arn)
    for policy in properties.get("Policies") or []:
        role["InlinePolicies"].pop(policy["PolicyName"], None)
    _refusing(name, iam._delete_role({"RoleName": [name]}))


def _protected(name: str) -> str | None:
    if (dynamodb._tables.get(name) or {}).get("DeletionProtectionEnabled"):
        return "Resource cannot be deleted as it is currently protected against deletion."
    return None


def _has_rules(name: str) -> str | None:
    if any(rule.get("EventBusName") == name for rule in eventbridge._rules.values()):
        return "EventBus can't be deleted since it has rules."
    return None


def _has_executions(arn: str) -> str | None:
    # Step Functions keeps it as DELETING until the last execution has ended, for which CloudFormation does not wait.
    if any(e["stateMachineArn"] == arn and e["status"] == "RUNNING" for e in stepfunctions._executions.values()):
        return "Resource did not stabilize: it has running executions."
    return None


def _unless(why: Callable[[str], str | None], original: Delete) -> Delete:
    def delete(physical_id: str, properties: Properties) -> None:
        if reason := why(physical_id):
            raise ValueError(f"{physical_id}: {reason}")
        original(physical_id, properties)

    return delete


def _by_call(action: str, key: str) -> Delete:
    def delete(physical_id: str, _properties: Properties) -> None:
        _refusing(physical_id, ec2._ACTION_MAP[action]({key: [physical_id]}))
        ec2._tags.pop(physical_id, None)

    return delete


def _detaching(original: Delete) -> Delete:
    def delete(physical_id: str, properties: Properties) -> None:
        call = {"VpcId": [properties["VpcId"]], "InternetGatewayId": [properties.get("InternetGatewayId", "")]}
        _refusing(physical_id, ec2._ACTION_MAP["DetachInternetGateway"](call))
        original(physical_id, properties)

    return delete


def _refusing(physical_id: str, answer: tuple[int, Any, Any]) -> None:
    """Raise what the service says, unless what is to be deleted is gone already."""
    status, _, body = answer
    text = body.decode() if isinstance(body, bytes) else str(body)
    code, message = (re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("Code", "Message"))
    if status >= 400 and not (code and re.search("NotFound|NoSuch", code[1])):
        raise ValueError(f"{physical_id}: {message[1] if message else text} ({code[1] if code else status})")
