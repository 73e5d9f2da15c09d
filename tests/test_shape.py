"""The form that was asked for, read off the checkout and the synthesized templates."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
REGIONS = ["us-west-2", "eu-west-1"]


def resources(stack: str, kind: str) -> list[dict[str, Any]]:
    """Properties of all resources of a type in a synthesized stack."""
    template = json.loads((ROOT / "cdk.out" / f"{stack}.template.json").read_text())
    return [resource.get("Properties", {}) for resource in template["Resources"].values() if resource["Type"] == kind]


def states(machine: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """All states, those of parallel branches included."""
    found: dict[str, dict[str, Any]] = dict(machine["States"])
    for state in machine["States"].values():
        for branch in state.get("Branches", []):
            found |= states(branch)
    return found


ASL = json.loads(resources("cpt-control", "AWS::StepFunctions::StateMachine")[0]["DefinitionString"])
# Of the two that it runs side by side neither may go on without the other.
LOOK = ASL["States"]["Look at Ends"]
TASKS = {name: state for name, state in states(ASL).items() if state["Type"] == "Task"}


@pytest.mark.parametrize("name", ["infra", "lambdas", "relay-ami", "statemachine", "tests", "cdk.json", "package.json"])
def test_top_level_has(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("state", TASKS)
def test_each_task_state_has_its_own_lambda_and_handler(state: str) -> None:
    handler = re.sub(r"\W+", "_", state.lower())
    names = {
        function["FunctionName"]: function["Handler"] for function in resources("cpt-control", "AWS::Lambda::Function")
    }
    assert names[f"cpt-{handler.replace('_', '-')}"] == f"lambdas.handlers.states.{handler}.handler"
    assert (ROOT / "lambdas" / "handlers" / "states" / f"{handler}.py").exists()
    placeholder = "${" + "".join(word.capitalize() for word in handler.split("_")) + "FunctionArn}"
    assert TASKS[state]["Arguments"]["FunctionName"] == placeholder


@pytest.mark.parametrize("state", TASKS)
def test_each_task_state_has_timeout_retry_by_name_and_catch(state: str) -> None:
    task = TASKS[state]
    assert task["TimeoutSeconds"] > 0
    assert (task if "Catch" in task else LOOK)["Catch"][0]["ErrorEquals"] == ["States.ALL"]
    assert task["Retry"]
    if state != "Tear Down":
        assert "States.ALL" not in task["Retry"][0]["ErrorEquals"]
        assert {"Lambda.Unknown", "Sandbox.Timedout", "Runtime.ExitError"} == set(task["Retry"][-1]["ErrorEquals"])
    assert ("HeartbeatSeconds" in task) == task["Resource"].endswith("waitForTaskToken")


def seconds_of(function: str) -> int:
    """How long a function may run."""
    functions = resources("cpt-control", "AWS::Lambda::Function")
    return next(int(found["Timeout"]) for found in functions if found["FunctionName"] == function)


@pytest.mark.parametrize("state", ["Plan Chunks", "Open Plan", "Extend Plan", "Spawn Relays"])
def test_what_is_done_once_in_an_execution_is_waited_for_as_long_as_a_killed_function_holds_it(state: str) -> None:
    waits = next(retry for retry in TASKS[state]["Retry"] if "WriteConflict" in retry["ErrorEquals"])
    held = seconds_of(f"cpt-{state.replace(' ', '-').lower()}")
    assert waits["BackoffRate"] == 1
    assert waits["MaxAttempts"] * waits["IntervalSeconds"] > held


def test_powertools_is_used_by_every_handler_and_lies_in_the_asset() -> None:
    every = [path for path in (ROOT / "lambdas" / "handlers").rglob("*.py") if path.name != "__init__.py"]
    # The pool has a stack of its own, where the settings name one.
    handlers = [path for path in every if path.parent.name != "pool"]
    functions = resources("cpt-control", "AWS::Lambda::Function")
    assert len(handlers) == len(functions)
    for function in functions:
        assert function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
        asset = function["Code"]["S3Key"].removesuffix(".zip")
        assert (ROOT / "cdk.out" / f"asset.{asset}" / "aws_lambda_powertools").is_dir()


def test_tables_for_transfers_chunks_nodes_profiles_and_control_tokens() -> None:
    tables = resources("cpt-control", "AWS::DynamoDB::GlobalTable") + resources("cpt-control", "AWS::DynamoDB::Table")
    names = {table["TableName"] for table in tables}
    assert {f"cpt-{name}" for name in ("transfers", "chunks", "nodes", "profiles", "control-tokens")} <= names


def test_rules_for_retry_and_for_replacement() -> None:
    rules = {
        rule["Name"]: rule["EventPattern"]
        for rule in resources("cpt-control", "AWS::Events::Rule")
        if "EventPattern" in rule
    }
    assert rules["cpt-retry-chunk"]["detail-type"] == ["Chunk Failed"]
    assert "Relay Lost" in rules["cpt-replace-relay"]["detail-type"]


@pytest.mark.parametrize("region", REGIONS)
def test_each_region_has_documents_and_a_launch_template(region: str) -> None:
    stack = f"cpt-region-{region}"
    documents = {document["Name"] for document in resources(stack, "AWS::SSM::Document")}
    names = ("scan", "delete", "receive", "send", "relay", "probe", "log", "stop")
    assert documents == {f"cpt-{name}" for name in names}
    templates = {template["LaunchTemplateName"] for template in resources(stack, "AWS::EC2::LaunchTemplate")}
    assert templates - {"cpt-relay-arm64"} == {"cpt-relay"}  # the second with a daemon for arm64
