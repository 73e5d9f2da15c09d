"""A state machine that starts executions of another one, waits for them, and stops them with itself."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from local.cloud import LocalCloud
from tests.local.test_stepfunctions import ended, start

CALLS = ["states:StartExecution", "states:DescribeExecution", "states:StopExecution"]
RULES = ["events:PutTargets", "events:PutRule", "events:DescribeRule"]
Machine = Callable[..., str]


@pytest.fixture(scope="module")
def machine(cloud: LocalCloud) -> Machine:
    """Makes a machine of one state whose role may do these things with executions."""
    iam = cloud.client("iam")

    def made(name: str, state: dict[str, Any], actions: list[str]) -> str:
        trust = {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        role = iam.create_role(RoleName=f"nested-{name}", AssumeRolePolicyDocument=document)["Role"]["Arn"]
        allowed = {"Effect": "Allow", "Action": actions, "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.put_role_policy(RoleName=f"nested-{name}", PolicyName="calls", PolicyDocument=document)
        definition = {"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {**state, "End": True}}}
        client = cloud.client("stepfunctions")
        answer = client.create_state_machine(name=name, definition=json.dumps(definition), roleArn=role)
        return str(answer["stateMachineArn"])

    return made


def run_child(child: str, name: str) -> dict[str, Any]:
    arguments = {"StateMachineArn": child, "Name": name, "Input": {"some": "{% $states.input.number %}"}}
    resource = "arn:aws:states:::states:startExecution.sync:2"
    return {"Type": "Task", "Resource": resource, "Arguments": arguments}


def described(cloud: LocalCloud, child: str, name: str) -> dict[str, Any]:
    client, arn = cloud.client("stepfunctions"), f"{child.replace(':stateMachine:', ':execution:')}:{name}"
    found = [one for one in client.list_executions(stateMachineArn=child)["executions"] if one["name"] == name]
    return dict(client.describe_execution(executionArn=arn)) if found else {"status": None}


def test_the_answer_has_names_in_pascal_case_times_as_text_and_the_output_as_json(
    cloud: LocalCloud, machine: Machine
) -> None:
    child = machine("echo", {"Type": "Pass", "Output": "{% $states.input %}"}, CALLS)
    done = ended(cloud, start(cloud, machine("parent", run_child(child, "first"), [*CALLS, *RULES]), {"number": 3}))
    assert (done["status"], done.get("cause")) == ("SUCCEEDED", None)
    told = json.loads(done["output"])
    assert (told["Name"], told["Status"], told["Output"]) == ("first", "SUCCEEDED", {"some": 3})
    assert isinstance(told["StartDate"], str)


@pytest.mark.parametrize(("actions", "status"), [(CALLS, "ABORTED"), (CALLS[:2], "SUCCEEDED")])
def test_an_execution_that_is_stopped_stops_what_it_waits_for_where_its_role_allows_that(
    cloud: LocalCloud, machine: Machine, actions: list[str], status: str
) -> None:
    child = machine(f"waits-{status}", {"Type": "Wait", "Seconds": 6}, CALLS)
    parent = start(cloud, machine(f"stopped-{status}", run_child(child, "waiting"), [*actions, *RULES]), {"number": 1})
    cloud.wait_for(lambda: described(cloud, child, "waiting")["status"] == "RUNNING", 10)
    cloud.client("stepfunctions").stop_execution(executionArn=parent)
    assert ended(cloud, parent)["status"] == "ABORTED"
    cloud.wait_for(lambda: described(cloud, child, "waiting")["status"] != "RUNNING", 20)
    assert described(cloud, child, "waiting")["status"] == status
