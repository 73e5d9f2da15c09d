"""What the synthesized templates grant: every statement of every role, inline and managed, one grant per action."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ASSEMBLY = ROOT / "cdk.out"
RULE = "Annotation::AwsSolutions-IAM5[Resource::"

# Physical names by type, and the ARN that Fn::GetAtt or Ref gives.
NAMES = {
    "AWS::Lambda::Function": ("FunctionName", "arn:aws:lambda:REGION:ACCOUNT:function:{}"),
    "AWS::Logs::LogGroup": ("LogGroupName", "arn:aws:logs:REGION:ACCOUNT:log-group:{}:*"),
    "AWS::SQS::Queue": ("QueueName", "arn:aws:sqs:REGION:ACCOUNT:{}"),
    "AWS::SNS::Topic": ("TopicName", "arn:aws:sns:REGION:ACCOUNT:{}"),
    "AWS::S3::Bucket": ("BucketName", "arn:aws:s3:::{}"),
    "AWS::DynamoDB::Table": ("TableName", "arn:aws:dynamodb:REGION:ACCOUNT:table/{}"),
    "AWS::StepFunctions::StateMachine": ("StateMachineName", "arn:aws:states:REGION:ACCOUNT:stateMachine:{}"),
}
PSEUDO = {
    "AWS::Partition": "aws",
    "AWS::AccountId": "ACCOUNT",
    "AWS::Region": "REGION",
    "AWS::URLSuffix": "amazonaws.com",
}
# What differs between accounts, enrolled regions and builds, and says nothing about permissions.
VARIES = [
    (re.compile(r"[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"(?<!\d)\d{12}(?!\d)"), "ACCOUNT"),
    (re.compile(r"(?<![a-z])(?:af|ap|ca|eu|il|me|mx|sa|us)-[a-z]+-\d"), "REGION"),
]

Resources = dict[str, dict[str, Any]]


@dataclass(frozen=True, order=True)
class Grant:
    """One action on one resource; `condition` names operators and keys, not their values."""

    role: str
    action: str
    resource: str
    condition: str

    def __str__(self) -> str:
        return "\t".join((self.role, self.action, self.resource, self.condition)).rstrip()


@dataclass
class Role:
    """A role of the deployment, by the name of the function, machine or state machine that has it."""

    name: str
    physical: list[str] = field(default_factory=list)
    """How CloudFormation names it, up to the suffix: one name for each enrolled region."""
    trusts: list[dict[str, Any]] = field(default_factory=list)
    """Principals that may assume it."""
    grants: set[Grant] = field(default_factory=set)
    reasons: dict[str, set[str]] = field(default_factory=dict)
    """Why a resource with a `*` is the narrowest that does, by resource."""


def plain(text: str) -> str:
    """A name or ARN without account, region and digests."""
    for pattern, word in VARIES:
        text = pattern.sub(word, text)
    return text


def condition_of(condition: dict[str, dict[str, Any]]) -> str:
    """`StringEquals ssm:resourceTag/cpt:lent-to`; several are joined by `, `."""
    return ", ".join(sorted(f"{operator} {key}" for operator, keys in condition.items() for key in keys))


def read_roles(assembly: Path = ASSEMBLY) -> dict[str, Role]:
    """Roles of all stacks by name."""
    roles: dict[str, Role] = {}
    for file in sorted(assembly.glob("*.template.json")):
        stack = file.name.removesuffix(".template.json")
        resources: Resources = json.loads(file.read_text())["Resources"]
        notes = json.loads((assembly / f"{stack}.metadata.json").read_text())
        for logical, resource in resources.items():
            if resource["Type"] == "AWS::IAM::Role":
                _add(roles, stack, logical, resources, notes)
    return roles


def read_policies(account: str, assembly: Path = ASSEMBLY) -> dict[str, list[list[dict[str, Any]]]]:
    """Policies of each role as deployed to `account`: one list of documents for each region that has the role."""
    found: dict[str, list[list[dict[str, Any]]]] = {}
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    for file in sorted(assembly.glob("*.template.json")):
        environment = artifacts[file.name.removesuffix(".template.json")]["environment"]
        values = {"ACCOUNT": account, "REGION": environment.rsplit("/", 1)[-1]}
        resources: Resources = json.loads(file.read_text())["Resources"]
        for logical, resource in resources.items():
            if resource["Type"] == "AWS::IAM::Role":
                documents = [_resolved(one, resources, values) for _, one in _documents(logical, resources)]
                found.setdefault(_name(logical, resources), []).append(documents)
    return found


def _resolved(value: Any, resources: Resources, values: dict[str, str]) -> Any:
    """A policy without functions of CloudFormation, and with what varies between builds replaced."""
    if isinstance(value, list):
        return [_resolved(one, resources, values) for one in value]
    if isinstance(value, dict) and not any(key == "Ref" or key.startswith("Fn::") for key in value):
        return {key: _resolved(one, resources, values) for key, one in value.items()}
    text = undigested(_text(value, resources))
    return re.sub("|".join(values), lambda found: values[found[0]], text)


def undigested(text: str) -> str:
    """A name or ARN without digests, which differ between builds."""
    pattern, word = VARIES[0]
    return pattern.sub(word, text)


def _name(logical: str, resources: Resources) -> str:
    bearer = _bearer(logical, resources)
    return plain(bearer or resources[logical]["Properties"].get("RoleName") or _path(resources[logical]))


def _add(roles: dict[str, Role], stack: str, logical: str, resources: Resources, notes: dict[str, Any]) -> None:
    properties = resources[logical]["Properties"]
    name = _name(logical, resources)
    role = roles.setdefault(name, Role(name))
    role.physical.append(properties.get("RoleName") or f"{stack}-{logical}")
    role.trusts += [entry["Principal"] for entry in properties["AssumeRolePolicyDocument"]["Statement"]]
    for arn in properties.get("ManagedPolicyArns", []):
        if isinstance(arn, str) or "Ref" not in arn:  # a policy that AWS keeps: whatever it allows
            role.grants.add(Grant(name, "policy:*", plain(_text(arn, resources)), ""))
    for path, document in _documents(logical, resources):
        for statement in document["Statement"]:
            if statement["Effect"] == "Allow":
                role.grants |= set(granted(name, statement, resources))
        for resource, whys in _reasons(notes, path).items():
            role.reasons.setdefault(resource, set()).update(whys)


def _bearer(logical: str, resources: Resources) -> str | None:
    """Name of the function or state machine whose role this is."""
    for resource in resources.values():
        properties = resource.get("Properties", {})
        if {"Fn::GetAtt": [logical, "Arn"]} in (properties.get("Role"), properties.get("RoleArn")):
            key = NAMES.get(resource["Type"], ("Name", ""))[0]
            if isinstance(properties.get(key), str):
                return str(properties[key])
    return None


KINDS = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")


def _path(resource: dict[str, Any]) -> str:
    return str(resource["Metadata"]["aws:cdk:path"]).removesuffix("/Resource")


def _documents(logical: str, resources: Resources) -> Iterator[tuple[str, dict[str, Any]]]:
    """Policies of a role, each with the path of the construct on which its wildcards are justified."""
    role = resources[logical]
    for policy in role["Properties"].get("Policies", []):
        yield _path(role), policy["PolicyDocument"]
    managed = [arn.get("Ref") for arn in role["Properties"].get("ManagedPolicyArns", []) if isinstance(arn, dict)]
    for name, resource in resources.items():
        # A managed policy that names the role holds what one inline policy cannot.
        if resource["Type"] in KINDS and {"Ref": logical} in resource["Properties"].get("Roles", []):
            yield _path(role), resource["Properties"]["PolicyDocument"]
        elif resource["Type"] == "AWS::IAM::ManagedPolicy" and name in managed:
            yield _path(resource), resource["Properties"]["PolicyDocument"]


def granted(role: str, statement: dict[str, Any], resources: Resources) -> Iterator[Grant]:
    """One grant for each action and resource of a statement."""
    condition = condition_of(statement.get("Condition", {}))
    for action in _several(statement["Action"]):
        for resource in _several(statement["Resource"]):
            yield Grant(role, action, plain(_text(resource, resources)), condition)


def _reasons(notes: dict[str, Any], path: str) -> dict[str, list[str]]:
    """What cdk-nag was told about the wildcards of a construct (infra/lib/access/access.ts)."""
    told = [entry["data"] for entry in notes.get(f"/{path}", []) if entry["type"] == "aws:cdk:acknowledged-rules"]
    found = {rule: why for data in told for rule, why in data.items() if rule.startswith(RULE)}
    return {
        plain(_filled(rule.removeprefix(RULE).removesuffix("]").replace("<", "${").replace(">", "}"))): why.split(" | ")
        for rule, why in found.items()
    }


def _text(value: Any, resources: Resources) -> str:
    if isinstance(value, str):
        return value
    [(function, argument)] = value.items()
    if function == "Fn::Join":
        return str(argument[0]).join(_text(part, resources) for part in argument[1])
    if function == "Fn::Sub":
        return _filled(argument)
    logical = argument if isinstance(argument, str) else argument[0]
    if logical in PSEUDO:
        return PSEUDO[logical]
    resource = resources[logical]
    key, arn = NAMES.get(resource["Type"], ("", "{}"))
    return arn.format(_text(resource["Properties"].get(key, logical), resources))


def _filled(text: str) -> str:
    for name, value in PSEUDO.items():
        text = text.replace(f"${{{name}}}", value)
    return text


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
