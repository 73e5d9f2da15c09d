"""Versions and aliases of state machines and functions, as AWS has them and as its policies see them."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from tests.local.conftest import Acting
from tests.local.test_stepfunctions import ended, machine, start


def saying(word: str) -> dict[str, Any]:
    return {"A": {"Type": "Pass", "Output": {"said": word}, "End": True}}


def published(cloud: LocalCloud, name: str, *aliases: str) -> tuple[str, str]:
    """A state machine that says "first", its version, and aliases of that."""
    client = cloud.client("stepfunctions")
    arn = machine(cloud, name, saying("first"))
    version = client.publish_state_machine_version(stateMachineArn=arn)["stateMachineVersionArn"]
    for alias in aliases:
        route = [{"stateMachineVersionArn": version, "weight": 100}]
        client.create_state_machine_alias(name=alias, routingConfiguration=route)
    return arn, version


def test_an_execution_says_through_which_alias_and_version_it_was_started(cloud: LocalCloud) -> None:
    arn, version = published(cloud, "told", "acme")
    by_alias, by_version, plain = (start(cloud, one) for one in (f"{arn}:acme", version, arn))
    for execution, told in (
        (by_alias, (f"{arn}:acme", version)),
        (by_version, (None, version)),
        (plain, (None, None)),
    ):
        found = ended(cloud, execution)
        assert (found.get("stateMachineAliasArn"), found.get("stateMachineVersionArn")) == told
        assert found["stateMachineArn"] == arn
        assert f":execution:{arn.rpartition(':')[2]}:" in execution


def test_an_alias_lists_its_own_executions_and_a_state_machine_all(cloud: LocalCloud) -> None:
    arn, _ = published(cloud, "listed", "acme", "beta")
    for alias in ("acme", "beta"):
        ended(cloud, start(cloud, f"{arn}:{alias}", name=f"of-{alias}"))
    ended(cloud, start(cloud, arn, name="of-nobody"))
    client = cloud.client("stepfunctions")

    def listed(asked: str) -> dict[str, Any]:
        found = client.list_executions(stateMachineArn=asked)["executions"]
        return {one["name"]: one.get("stateMachineAliasArn") for one in found}

    assert listed(f"{arn}:acme") == {"of-acme": f"{arn}:acme"}
    assert listed(arn) == {"of-acme": f"{arn}:acme", "of-beta": f"{arn}:beta", "of-nobody": None}
    with pytest.raises(ClientError, match="StateMachineDoesNotExist"):
        client.list_executions(stateMachineArn=f"{arn}:nobody")


def test_an_alias_runs_what_was_published_and_a_revision_is_published_once(cloud: LocalCloud) -> None:
    arn, version = published(cloud, "versions", "acme")
    client = cloud.client("stepfunctions")
    assert client.publish_state_machine_version(stateMachineArn=arn)["stateMachineVersionArn"] == version
    definition = {"QueryLanguage": "JSONata", "StartAt": "A", "States": saying("second")}
    client.update_state_machine(stateMachineArn=arn, definition=json.dumps(definition))
    said = [json.loads(ended(cloud, start(cloud, one))["output"])["said"] for one in (arn, f"{arn}:acme", version)]
    assert said == ["second", "first", "first"]
    later = client.publish_state_machine_version(stateMachineArn=arn)["stateMachineVersionArn"]
    assert later != version
    with pytest.raises(ClientError, match="ConflictException"):
        client.delete_state_machine_version(stateMachineVersionArn=version)


def test_a_call_by_an_alias_is_asked_on_the_state_machine_with_the_alias_as_a_condition(
    cloud: LocalCloud, acting: Acting
) -> None:
    arn, version = published(cloud, "asked", "acme", "beta")
    starting = {"Effect": "Allow", "Action": ["states:StartExecution", "states:ListExecutions"]}
    only = {"ForAnyValue:StringEquals": {"states:StateMachineQualifier": ["acme"]}}
    acme = acting([{**starting, "Resource": arn, "Condition": only}], "stepfunctions")
    acme.start_execution(stateMachineArn=f"{arn}:acme", name="allowed")
    assert [one["name"] for one in acme.list_executions(stateMachineArn=f"{arn}:acme")["executions"]] == ["allowed"]
    operator = acting([{**starting, "Resource": arn}], "stepfunctions")
    by_arn = acting([{**starting, "Resource": f"{arn}:acme"}], "stepfunctions")
    for other in (arn, f"{arn}:beta", version):
        for client in (acme, by_arn):
            with pytest.raises(ClientError, match="AccessDenied"):
                client.start_execution(stateMachineArn=other)
            with pytest.raises(ClientError, match="AccessDenied"):
                client.list_executions(stateMachineArn=other)
        operator.start_execution(stateMachineArn=other)
    # The alias's own ARN is no resource that Step Functions asks about.
    with pytest.raises(ClientError, match="AccessDenied"):
        by_arn.start_execution(stateMachineArn=f"{arn}:acme")


def test_a_function_knows_by_which_alias_it_was_invoked_and_policies_too(cloud: LocalCloud, acting: Acting) -> None:
    cloud.client("lambda").create_alias(FunctionName="probe", Name="acme", FunctionVersion="$LATEST")
    cloud.client("lambda").create_alias(FunctionName="probe", Name="beta", FunctionVersion="$LATEST")
    arn = (
        cloud.client("lambda").get_function_configuration(FunctionName="probe")["FunctionArn"].removesuffix(":$LATEST")
    )
    payload = json.dumps({"action": "invoked"})

    def invoked(client: Any, **named: str) -> str:
        return str(json.loads(client.invoke(Payload=payload, **named)["Payload"].read()))

    invoking = {"Effect": "Allow", "Action": "lambda:InvokeFunction"}
    acme = acting([{**invoking, "Resource": f"{arn}:acme"}], "lambda")
    unqualified = acting([{**invoking, "Resource": arn}], "lambda")
    for named in ({"FunctionName": "probe", "Qualifier": "acme"}, {"FunctionName": f"{arn}:acme"}):
        assert invoked(acme, **named) == f"{arn}:acme"
        with pytest.raises(ClientError, match="AccessDenied"):
            invoked(unqualified, **named)
    for other in ({"FunctionName": "probe"}, {"FunctionName": "probe", "Qualifier": "beta"}):
        with pytest.raises(ClientError, match="AccessDenied"):
            invoked(acme, **other)
    assert invoked(unqualified, FunctionName="probe") == arn


def test_cloudformation_moves_an_alias_to_the_version_of_a_new_definition_and_removes_the_old_one(
    cloud: LocalCloud,
) -> None:
    role = cloud.outputs["probe-control"]["MachineRoleArn"]
    client, states = cloud.client("cloudformation"), cloud.client("stepfunctions")

    def deployed(word: str, make: Any) -> list[str]:
        definition = {"QueryLanguage": "JSONata", "StartAt": "A", "States": saying(word)}
        revision = {"Fn::GetAtt": ["Machine", "StateMachineRevisionId"]}
        route = {"StateMachineVersionArn": {"Fn::GetAtt": ["Version", "Arn"]}, "Weight": 100}
        resources = {
            "Machine": {
                "StateMachineName": "deployed",
                "DefinitionString": json.dumps(definition),
                "RoleArn": role,
            },
            "Version": {"StateMachineArn": {"Ref": "Machine"}, "StateMachineRevisionId": revision},
            "Alias": {"Name": "acme", "RoutingConfiguration": [route]},
        }
        types = {"Machine": "", "Version": "Version", "Alias": "Alias"}
        body = {
            name: {"Type": f"AWS::StepFunctions::StateMachine{types[name]}", "Properties": properties}
            for name, properties in resources.items()
        }
        make(StackName="aliased", TemplateBody=json.dumps({"Resources": body}))

        def over() -> str | None:
            [stack] = client.describe_stacks(StackName="aliased")["Stacks"]
            return None if stack["StackStatus"].endswith("_IN_PROGRESS") else str(stack["StackStatus"])

        assert cloud.wait_for(over, 20).endswith("E_COMPLETE")
        arn = next(
            one["stateMachineArn"] for one in states.list_state_machines()["stateMachines"] if one["name"] == "deployed"
        )
        done = ended(cloud, start(cloud, f"{arn}:acme"))
        assert json.loads(done["output"])["said"] == word
        versions = states.list_state_machine_versions(stateMachineArn=arn)["stateMachineVersions"]
        return [str(one["stateMachineVersionArn"]) for one in versions]

    first = deployed("first", client.create_stack)
    second = deployed("second", client.update_stack)
    assert (len(first), len(second)) == (1, 1)
    assert first != second
