"""Versions and aliases of state machines.

AWS: an execution that is started through a version or an alias runs what was published, and says through which it was
started; an alias lists its own executions, a state machine all; to publish a revision twice is to publish it once;
versions and aliases go with their state machine; CloudFormation makes both, and deletes no version that an alias names.
Emulator: runs the state machine's latest definition, forgets through what an execution was started, lists nothing for
an alias, publishes each time, keeps versions and aliases of a machine that is gone, and CloudFormation refuses them.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from typing import Any

from local.patches.replace import override
from local.patches.upstream import provisioners, responses, stepfunctions

Json = dict[str, Any]
ALIAS, VERSION = "stateMachineAliasArn", "stateMachineVersionArn"
# What a version keeps of the state machine that it was published of.
_PUBLISHED = ("definition", "roleArn", "type", "loggingConfiguration")

_started: ContextVar[Json] = ContextVar("_started")
_describe = stepfunctions._describe_execution
_list = stepfunctions._list_executions
_publish = stepfunctions._publish_state_machine_version


def install() -> None:
    """Answer for executions of versions and aliases, and register both types of resource."""
    override(
        stepfunctions,
        _describe_execution=describe_execution,
        _list_executions=list_executions,
        _publish_state_machine_version=publish_version,
    )
    provisioners._RESOURCE_HANDLERS.update(
        {
            "AWS::StepFunctions::StateMachineVersion": {
                "create": _create_version,
                "update": lambda physical_id, old, new, stack: _create_version(physical_id, new, stack),
                "delete": _delete_version,
            },
            "AWS::StepFunctions::StateMachineAlias": {
                "create": _create_alias,
                "update": _update_alias,
                "delete": lambda physical_id, properties: stepfunctions._delete_state_machine_alias(
                    {ALIAS: physical_id}
                ),
            },
        }
    )


def remember(asked: str) -> Json:
    """Note for the execution that is started now through which version and alias it is; what its record has of them."""
    version = stepfunctions._execution_version_arn(asked)
    told = {ALIAS: asked} if asked in stepfunctions._state_machine_aliases else {}
    found = {**told, **({VERSION: version} if version else {})}
    _started.set(found)  # the execution's thread gets a copy of the context
    return found


def of_started() -> Json:
    """What was noted for the execution of this thread."""
    return _started.get({})


def published(machine: Json, record: Json) -> Json:
    """The state machine as an execution runs it: as its version has it, where it was started through one."""
    version = stepfunctions._state_machine_versions.get(record.get(VERSION) or "")
    return {**machine, **{name: version[name] for name in _PUBLISHED}} if version else machine


def describe_execution(data: Json) -> Any:
    """DescribeExecution, with the version and the alias that it was started through."""
    record = stepfunctions._executions.get(data.get("executionArn")) or {}
    return _with(_describe(data), lambda answer: {**answer, **_told(record)})


def list_executions(data: Json) -> Any:
    """ListExecutions of a state machine, or of one of its aliases or versions: then those that it started."""
    asked = data.get("stateMachineArn")
    base = stepfunctions._resolve_state_machine_arn(asked) if asked else None
    if asked and base is None:
        message = f"State Machine Does Not Exist: '{asked}'"
        return responses.error_response_json("StateMachineDoesNotExist", message, 400)
    if base is None or base == asked:
        return _with(_list(data), _listed)
    others = {
        arn: record
        for arn, record in stepfunctions._executions.items()
        if record["stateMachineArn"] == base and asked not in (record.get(ALIAS), record.get(VERSION))
    }

    def own(answer: Json) -> Json:
        return _listed(
            {**answer, "executions": [one for one in answer["executions"] if one["executionArn"] not in others]}
        )

    return _with(_list({**data, "stateMachineArn": base}), own)


def publish_version(data: Json) -> Any:
    """PublishStateMachineVersion: of a revision that was published already it answers with that version."""
    machine = stepfunctions._state_machines.get(data.get("stateMachineArn")) or {}
    asked, revision = data.get("revisionId"), machine.get("revisionId")
    for arn, version in stepfunctions._state_machine_versions.items():
        is_same = revision and (version["stateMachineArn"], version["stateMachineRevisionId"]) == (
            machine.get("stateMachineArn"),
            revision,
        )
        if is_same and asked in (None, "", revision):
            return responses.json_response({VERSION: arn, "creationDate": version["creationDate"]})
    return _publish(data)


def forget(machine: str) -> None:
    """Versions and aliases go with their state machine."""
    for known in (stepfunctions._state_machine_aliases, stepfunctions._state_machine_versions):
        for arn in [arn for arn in known if arn.rpartition(":")[0] == machine]:
            del known[arn]


def _listed(answer: Json) -> Json:
    records = stepfunctions._executions
    told = [{**one, **_told(records.get(one["executionArn"]) or {})} for one in answer["executions"]]
    return {**answer, "executions": told}


def _told(record: Json) -> Json:
    return {name: record[name] for name in (ALIAS, VERSION) if record.get(name)}


def _with(answer: Any, change: Any) -> Any:
    status, _, body = answer
    return answer if status != 200 else responses.json_response(change(json.loads(body)))


def _create_version(logical_id: str, properties: Json, stack: str) -> tuple[str, Json]:
    wanted = {"stateMachineArn": properties["StateMachineArn"], "description": properties.get("Description", "")}
    if revision := properties.get("StateMachineRevisionId"):
        wanted["revisionId"] = revision
    arn = str(_answered(stepfunctions._publish_state_machine_version(wanted))[VERSION])
    return arn, {"Arn": arn}


def _delete_version(physical_id: str, properties: Json) -> None:
    _answered(stepfunctions._delete_state_machine_version({VERSION: physical_id}))


def _create_alias(logical_id: str, properties: Json, stack: str) -> tuple[str, Json]:
    wanted = {
        "name": properties["Name"],
        "description": properties.get("Description", ""),
        "routingConfiguration": _routes(properties),
    }
    arn = str(_answered(stepfunctions._create_state_machine_alias(wanted))[ALIAS])
    return arn, {"Arn": arn}


def _update_alias(physical_id: str, old: Json, new: Json, stack: str) -> tuple[str, Json]:
    if old.get("Name") != new.get("Name"):
        return _create_alias(physical_id, new, stack)
    changed = {ALIAS: physical_id, "description": new.get("Description", ""), "routingConfiguration": _routes(new)}
    _answered(stepfunctions._update_state_machine_alias(changed))
    return physical_id, {"Arn": physical_id}


def _routes(properties: Json) -> list[Json]:
    return [
        {VERSION: one["StateMachineVersionArn"], "weight": int(one["Weight"])}
        for one in properties.get("RoutingConfiguration") or []
    ]


def _answered(answer: Any) -> Json:
    """The body of an answer; raises ValueError for an error, which fails the resource."""
    status, _, body = answer
    found: Json = json.loads(body or b"{}")
    if status >= 400:
        raise ValueError(str(found.get("message") or found.get("Message") or found))
    return found
