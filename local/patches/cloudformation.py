"""Resource types that the emulator's CloudFormation refuses.

AWS creates AWS::SSM::Document and AWS::EC2::SecurityGroupIngress / -Egress; the emulator answers "Unsupported resource
type".
AWS gives a role its boundary; the emulator drops it.
AWS gives a function its dead-letter queue; the emulator drops this property of AWS::Lambda::Function, and keeps a copy
of the code for each function, also where all share one asset.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

from local.patches.functions import runtime as lambda_runtime
from local.patches.ssm import documents as ssm_documents
from local.patches.upstream import account_id, ec2, iam, lambda_svc, provisioners, region_name
from local.state import StateDir

Created = tuple[str, dict[str, Any]]
Properties = dict[str, Any]


def install(state: StateDir) -> None:
    """Register the types, complete the function's."""
    function = provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"]
    function["create"] = _create_function(function["create"], state)
    role = provisioners._RESOURCE_HANDLERS["AWS::IAM::Role"]
    role["create"] = _create_role(role["create"])
    provisioners._RESOURCE_HANDLERS.update(
        {
            "AWS::SSM::Document": {"create": _create_document, "delete": _delete_document},
            "AWS::EC2::SecurityGroupIngress": {
                "create": lambda logical_id, properties, stack: _create_rule("IpPermissions", logical_id, properties),
                "delete": lambda physical_id, properties: _delete_rule("IpPermissions", properties),
            },
            "AWS::EC2::SecurityGroupEgress": {
                "create": lambda logical_id, properties, stack: _create_rule(
                    "IpPermissionsEgress", logical_id, properties
                ),
                "delete": lambda physical_id, properties: _delete_rule("IpPermissionsEgress", properties),
            },
        }
    )


def _create_function(create: Any, state: StateDir) -> Any:
    codes: dict[str, bytes] = {}

    def wrapped(logical_id: str, properties: Properties, stack: str) -> Created:
        created: Created = create(logical_id, properties, stack)
        function = lambda_svc._functions[created[0]]
        if "DeadLetterConfig" in properties:
            function["config"]["DeadLetterConfig"] = properties["DeadLetterConfig"]
        digest = function["config"]["CodeSha256"]
        if digest not in codes:
            codes[digest] = function["code_zip"]
            prepared = (state, function["config"]["Runtime"], codes[digest])
            threading.Thread(target=lambda_runtime.prepare, args=prepared, daemon=True).start()
        function["code_zip"] = codes[digest]
        return created

    return wrapped


def _create_role(create: Any) -> Any:
    def wrapped(logical_id: str, properties: Properties, stack: str) -> Created:
        created: Created = create(logical_id, properties, stack)
        if "PermissionsBoundary" in properties:
            iam._roles[created[0]]["PermissionsBoundary"] = properties["PermissionsBoundary"]
        return created

    return wrapped


def _create_document(logical_id: str, properties: Properties, stack: str) -> Created:
    name = properties.get("Name") or f"{stack}-{logical_id}"
    content = properties["Content"]
    ssm_documents.create(
        {
            "Name": name,
            "Content": content if isinstance(content, str) else json.dumps(content),
            "DocumentType": properties.get("DocumentType", "Command"),
            "Tags": properties.get("Tags", []),
        }
    )
    return name, {}


def _delete_document(physical_id: str, properties: Properties) -> None:
    ssm_documents.documents.pop(physical_id, None)


def _create_rule(side: str, logical_id: str, properties: Properties) -> Created:
    group = ec2._security_groups[properties["GroupId"]]
    group[side].extend(provisioners._ec2_sg_permissions([properties]))
    digest = hashlib.sha256(f"{account_id()}{region_name()}{logical_id}{json.dumps(properties)}".encode()).hexdigest()
    rule_id = f"sgr-0{digest[:16]}"
    return rule_id, {"Id": rule_id}


def _delete_rule(side: str, properties: Properties) -> None:
    group = ec2._security_groups.get(properties["GroupId"])
    if group is not None:
        gone = provisioners._ec2_sg_permissions([properties])
        group[side] = [rule for rule in group[side] if rule not in gone]
