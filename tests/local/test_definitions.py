"""Definitions of state machines that Step Functions refuses, where they are made and where they change."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from local.patches.states.definitions import problems
from tests.local.test_stepfunctions import machine

PASS = {"Type": "Pass", "End": True}
TASK = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": {}, "End": True}
Json = dict[str, Any]


def of(states: Json, start: str = "A") -> Json:
    return {"QueryLanguage": "JSONata", "StartAt": start, "States": states}


def choice(*following: str, **more: Any) -> Json:
    rules = [{"Condition": "{% $states.input.x = 1 %}", "Next": name} for name in following]
    return {"Type": "Choice", "Choices": rules, **more}


@pytest.mark.parametrize(
    ("states", "told"),
    [
        ({"A": {"Type": "Pass", "Next": "B"}}, "MISSING_TRANSITION_TARGET: Missing 'Next' target: B at /States/A/Next"),
        ({"B": PASS}, "MISSING_TRANSITION_TARGET: Missing 'Next' target: A at /StartAt"),
        ({"A": choice("B", Default="C"), "B": PASS}, "target: C at /States/A/Default"),
        ({"A": choice("B", "C"), "B": PASS}, "target: C at /States/A/Choices[1]/Next"),
        ({"A": {**TASK, "Catch": [{"ErrorEquals": ["X"], "Next": "C"}]}}, "target: C at /States/A/Catch[0]/Next"),
        ({"A": {"Type": "Pass"}}, "Either 'Next' or 'End': true is required at /States/A"),
        ({"A": {"Type": "Pass", "End": False}}, "Either 'Next' or 'End': true is required at /States/A"),
        ({"A": {"Type": "Fail", "Next": "B"}, "B": PASS}, "Field is not supported at /States/A/Next"),
        (
            {"A": {"Type": "Choice", "Default": "B"}, "B": PASS},
            "A non-empty list of 'Choices' is required at /States/A",
        ),
        ({"A": {"End": True}}, "The field 'Type' should have one of these values"),
        ({"A": {**TASK, "TimeoutSeconds": 0}}, "The value should be at least 1 at /States/A/TimeoutSeconds"),
        ({"A": {**PASS, "Output": {"x": ["{% ((( %}"]}}}, "The JSONata expression is not valid"),
        ({"A": {"Type": "Parallel", "End": True, "Branches": [of({"C": PASS})]}}, "A at /States/A/Branches[0]/StartAt"),
        (
            {
                "A": {"Type": "Parallel", "Next": "B", "Branches": [of({"C": {"Type": "Pass", "Next": "B"}}, "C")]},
                "B": PASS,
            },
            "target: B at /States/A/Branches[0]/States/C/Next",
        ),
        (
            {"A": {"Type": "Map", "End": True, "ItemProcessor": of({"A": PASS})}},
            "DUPLICATE_STATE_NAME: Duplicate state name: A",
        ),
    ],
)
def test_what_is_refused_is_named_with_its_place(states: Json, told: str) -> None:
    [found] = problems(of(states))
    assert told in found


def test_a_name_has_80_characters_at_most() -> None:
    assert problems(of({"A" * 80: PASS}, "A" * 80)) == []
    assert "must have 80 characters at most" in problems(of({"A" * 81: PASS}, "A" * 81))[0]


def test_what_says_all_that_is_needed_is_taken() -> None:
    branch = of({"C": {**TASK, "TimeoutSeconds": 1, "Arguments": {"x": "{% $states.input.x %}"}}}, "C")
    states = {
        "A": choice("B", "D", Default="E"),
        "B": {"Type": "Parallel", "Branches": [branch], "Next": "D"},
        "D": {"Type": "Map", "ItemProcessor": of({"F": PASS}, "F"), "End": True},
        "E": {"Type": "Fail"},
    }
    assert problems(of(states)) == []


def test_text_in_braces_is_an_expression_in_jsonata_alone() -> None:
    states = {"A": {**PASS, "Result": "{% ((( %}"}}
    assert problems({"StartAt": "A", "States": states}) == []
    assert len(problems({"StartAt": "A", "States": {"A": {**states["A"], "QueryLanguage": "JSONata"}}})) == 1


@pytest.mark.parametrize(
    "states", [{"A": {"Type": "Pass", "Next": "B"}}, {"A": {"End": True}}, {"A": {"Type": "Pass"}}]
)
def test_it_is_neither_made_nor_changed_so(cloud: LocalCloud, states: Json) -> None:
    client, bad = cloud.client("stepfunctions"), json.dumps(of(states))
    role = cloud.outputs["probe-control"]["MachineRoleArn"]
    with pytest.raises(ClientError, match=r"InvalidDefinition.*Invalid State Machine Definition: '"):
        client.create_state_machine(name="invalid", definition=bad, roleArn=role)
    arn = next(
        (one["stateMachineArn"] for one in client.list_state_machines()["stateMachines"] if one["name"] == "valid"),
        None,
    ) or machine(cloud, "valid", {"A": PASS})
    with pytest.raises(ClientError, match="InvalidDefinition"):
        client.update_state_machine(stateMachineArn=arn, definition=bad)
    assert "Next" not in json.loads(client.describe_state_machine(stateMachineArn=arn)["definition"])["States"]["A"]
