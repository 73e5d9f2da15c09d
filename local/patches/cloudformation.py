"""Resource types that the emulator's CloudFormation refuses.

AWS creates AWS::SSM::Document and AWS::EC2::SecurityGroupIngress / -Egress; the emulator answers "Unsupported resource
type".
AWS gives a role its boundary; the emulator drops it.
AWS refuses to create a table under a name that is taken, whoever made that table; the emulator takes it over.
AWS refuses an update that makes or removes two indexes of a table, or changes what one holds; the emulator does all.
AWS takes alarms over an expression of up to ten metrics, and saved queries; the emulator refuses both.
AWS gives a function its dead-letter queue; the emulator drops this property of AWS::Lambda::Function, and keeps a copy
of the code for each function, also where all share one asset.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

from local.patches.functions import runtime as lambda_runtime
from local.patches.replace import override
from local.patches.ssm import documents as ssm_documents
from local.patches.upstream import (
    account_id,
    cloudwatch_logs,
    dynamodb,
    ec2,
    iam,
    lambda_svc,
    provisioners,
    region_name,
)
from local.state import StateDir

_plain_alarm: Any = provisioners._cw_metric_alarm_record
ALARM_METRICS = 10
Created = tuple[str, dict[str, Any]]
Properties = dict[str, Any]


def install(state: StateDir) -> None:
    """Register the types, complete the function's."""
    function = provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"]
    function["create"] = _create_function(function["create"], state)
    table = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
    table["create"] = _create_table(table["create"])
    table["update"] = _update_table(table["update"])
    role = provisioners._RESOURCE_HANDLERS["AWS::IAM::Role"]
    role["create"] = _create_role(role["create"])
    override(provisioners, _cw_metric_alarm_record=_alarm)
    provisioners._RESOURCE_HANDLERS.update(
        {
            "AWS::Logs::QueryDefinition": {"create": _create_query, "delete": lambda physical_id, properties: None},
            "AWS::SSM::Document": {
                "create": _create_document,
                "update": _update_document,
                "delete": _delete_document,
            },
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


def _create_table(create: Any) -> Any:
    def wrapped(logical_id: str, properties: Properties, stack: str) -> Created:
        name = properties.get("TableName")
        if name and dynamodb._tables.get(name):
            raise ValueError(f"{name} already exists")
        created: Created = create(logical_id, properties, stack)
        return created

    return wrapped


def _update_table(update: Any) -> Any:
    def wrapped(physical_id: str, old: Properties, new: Properties, *more: Any, **named: Any) -> Any:
        before, after = (
            {index["IndexName"]: index for index in properties.get("GlobalSecondaryIndexes", [])}
            for properties in (old, new)
        )
        if any(before[name] != after[name] for name in before.keys() & after.keys()):
            raise ValueError(f"{physical_id}: an index cannot be changed; make one by another name")
        if len(before.keys() ^ after.keys()) > 1:
            raise ValueError(f"{physical_id}: cannot perform more than one GSI creation or deletion in a single update")
        return update(physical_id, old, new, *more, **named)

    return wrapped


def _create_role(create: Any) -> Any:
    def wrapped(logical_id: str, properties: Properties, stack: str) -> Created:
        created: Created = create(logical_id, properties, stack)
        if "PermissionsBoundary" in properties:
            iam._roles[created[0]]["PermissionsBoundary"] = properties["PermissionsBoundary"]
        return created

    return wrapped


def _alarm(name: str, properties: Properties) -> dict[str, Any]:
    metrics = properties.get("Metrics") or []
    if not metrics:
        return dict(_plain_alarm(name, properties))
    measured = [one["MetricStat"]["Metric"] for one in metrics if "MetricStat" in one]
    # ReturnData is true unless it is said.
    returned = [one for one in metrics if str(one.get("ReturnData", True)).lower() == "true"]
    if len(measured) > ALARM_METRICS or len(returned) != 1:
        raise ValueError(f"{name}: an alarm takes {ALARM_METRICS} metrics at most, and one value of them")
    # It never rings here, so one metric stands for all.
    return dict(_plain_alarm(name, {**{k: v for k, v in properties.items() if k != "Metrics"}, **measured[0]}))


def _create_query(logical_id: str, properties: Properties, stack: str) -> Created:
    groups = properties.get("LogGroupNames") or []
    absent = [group for group in groups if group not in cloudwatch_logs._log_groups]
    if absent:
        raise ValueError(f"{properties['Name']}: no log group {absent[0]}")
    query_id = hashlib.sha256(f"{stack}{logical_id}".encode()).hexdigest()[:32]
    return query_id, {"QueryDefinitionId": query_id}


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


def _update_document(physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
    """With `UpdateMethod: NewVersion` the document stays; else AWS makes another, for which its name is taken."""
    if new.get("UpdateMethod") != "NewVersion" or new.get("Name", physical_id) != physical_id:
        return _create_document(physical_id, new, stack)
    content = new["Content"]
    ssm_documents.update({"Name": physical_id, "Content": content if isinstance(content, str) else json.dumps(content)})
    return physical_id, {}


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
