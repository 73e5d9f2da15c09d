"""State machines as AWS interprets them, where our workflow relies on it."""

import json
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from tests.local.conftest import noted

RETRY = {"MaxAttempts": 1, "IntervalSeconds": 1, "BackoffRate": 1}


def machine(cloud: LocalCloud, name: str, states: dict[str, Any], **more: Any) -> str:
    definition = {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states, **more}
    answer = cloud.client("stepfunctions").create_state_machine(
        name=name, definition=json.dumps(definition), roleArn=cloud.outputs["probe-control"]["MachineRoleArn"]
    )
    return str(answer["stateMachineArn"])


def start(cloud: LocalCloud, arn: str, document: Any = None, **options: Any) -> str:
    answer = cloud.client("stepfunctions").start_execution(
        stateMachineArn=arn, input=json.dumps(document or {}), **options
    )
    return str(answer["executionArn"])


def ended(cloud: LocalCloud, execution: str, seconds: float = 20) -> dict[str, Any]:
    client = cloud.client("stepfunctions")

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = client.describe_execution(executionArn=execution)
        return None if found["status"] == "RUNNING" else found

    return cloud.wait_for(look, seconds)


def run(cloud: LocalCloud, name: str, states: dict[str, Any], document: Any = None, **more: Any) -> dict[str, Any]:
    return ended(cloud, start(cloud, machine(cloud, name, states, **more), document))


def call(event: Any, **more: Any) -> dict[str, Any]:
    arguments = {"FunctionName": "probe", "Payload": event}
    return {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": arguments, **more}


def token(cloud: LocalCloud, name: str) -> str:
    found = cloud.wait_for(
        lambda: cloud.client("dynamodb").get_item(TableName="probe-events", Key={"id": {"S": name}}).get("Item"), 10
    )
    return str(found["token"]["S"])


def test_variables_are_assigned_and_strings_are_values_not_text(cloud: LocalCloud) -> None:
    odd = 'a "quoted" {% line %}\n\\ and $more'
    states = {
        "A": {
            "Type": "Pass",
            "Assign": {"kept": "{% $states.input.odd %}", "none": None, "half": "{% 6 / 4 %}"},
            "Next": "B",
        },
        "B": {
            "Type": "Pass",
            "Output": {
                "kept": "{% $kept %}",
                "none": "{% $none = null ? 'null' : 'not' %}",
                "half": "{% $half * 2 %}",
                "parsed": "{% $parse('{\"a\": [1]}').a[0] %}",
                "merged": "{% $merge([{'a': 1}, {'b': $kept}]) %}",
            },
            "End": True,
        },
    }
    done = run(cloud, "assign", states, {"odd": odd})
    assert json.loads(done["output"]) == {
        "kept": odd,
        "none": "null",
        "half": 3,
        "parsed": 1,
        "merged": {"a": 1, "b": odd},
    }


def test_undefined_fails_with_a_query_evaluation_error(cloud: LocalCloud) -> None:
    done = run(cloud, "undefined", {"A": {"Type": "Pass", "Output": "{% $states.input.absent %}", "End": True}})
    assert (done["status"], done["error"]) == ("FAILED", "States.QueryEvaluationError")


def test_branches_keep_their_own_errors(cloud: LocalCloud) -> None:
    caught = {"ErrorEquals": ["States.ALL"], "Output": {"error": "{% $states.errorOutput.Error %}"}, "Next": "Caught"}
    failing = {
        "StartAt": "Raise",
        "States": {
            "Raise": call({"action": "raise", "message": "m"}, Catch=[caught], End=True),
            "Caught": {"Type": "Pass", "End": True},
        },
    }
    fine = {"StartAt": "Fine", "States": {"Fine": {"Type": "Pass", "Output": {"fine": True}, "End": True}}}
    done = run(cloud, "parallel", {"Both": {"Type": "Parallel", "Branches": [failing, fine], "End": True}})
    assert json.loads(done["output"]) == [{"error": "NoCapacity"}, {"fine": True}]


def test_retry_goes_by_the_name_of_the_exception(cloud: LocalCloud) -> None:
    before = machine(cloud, "retry", {"A": call({"action": "raise", "message": "m"}, Retry=[
        {"ErrorEquals": ["Other"], **RETRY}, {"ErrorEquals": ["NoCapacity"], **RETRY},
    ], End=True)})  # fmt: skip
    execution = start(cloud, before)
    done = ended(cloud, execution)
    assert (done["status"], done["error"]) == ("FAILED", "NoCapacity")
    assert json.loads(done["cause"])["errorMessage"] == "m"
    events = cloud.client("stepfunctions").get_execution_history(executionArn=execution)["events"]
    assert [event["type"] for event in events].count("TaskFailed") == 2


def test_fail_takes_error_and_cause_from_expressions(cloud: LocalCloud) -> None:
    cause = '{"field": "paths", "remedy": "name \\"one\\""}'
    states = {"A": {"Type": "Fail", "Error": "{% $states.input.error %}", "Cause": "{% $states.input.cause %}"}}
    done = run(cloud, "fail", states, {"error": "BadRequest", "cause": cause})
    assert (done["status"], done["error"], done["cause"]) == ("FAILED", "BadRequest", cause)


def test_task_waits_for_its_token(cloud: LocalCloud) -> None:
    payload = {"action": "token", "name": "wait", "token": "{% $states.context.Task.Token %}"}
    waiting = call(payload, Resource="arn:aws:states:::lambda:invoke.waitForTaskToken", TimeoutSeconds=30, End=True)
    waiting["HeartbeatSeconds"] = 20
    execution = start(cloud, machine(cloud, "token", {"A": waiting}))
    client = cloud.client("stepfunctions")
    key = token(cloud, "wait")
    client.send_task_heartbeat(taskToken=key)
    client.send_task_success(taskToken=key, output='{"delivered": 1}')
    assert json.loads(ended(cloud, execution)["output"]) == {"delivered": 1}
    with pytest.raises(ClientError, match="TaskTimedOut"):
        client.send_task_success(taskToken=key, output="{}")
    with pytest.raises(ClientError, match="InvalidOutput"):
        client.send_task_success(taskToken=key, output="not json")


def test_token_is_good_before_the_call_returns_and_only_once(cloud: LocalCloud) -> None:
    payload = {"action": "token", "name": "early", "token": "{% $states.context.Task.Token %}", "seconds": 1}
    waiting = call(payload, Resource="arn:aws:states:::lambda:invoke.waitForTaskToken", TimeoutSeconds=30)
    states = {"A": {**waiting, "HeartbeatSeconds": 20, "Next": "B"}, "B": {"Type": "Wait", "Seconds": 2, "End": True}}
    execution = start(cloud, machine(cloud, "early", states))
    client = cloud.client("stepfunctions")
    key = token(cloud, "early")
    client.send_task_heartbeat(taskToken=key)
    began = time.monotonic()
    client.send_task_success(taskToken=key, output="1")
    with pytest.raises(ClientError, match="TaskTimedOut"):
        client.send_task_success(taskToken=key, output="2")
    with pytest.raises(ClientError, match="TaskTimedOut"):
        client.send_task_heartbeat(taskToken=key)
    assert ended(cloud, execution)["output"] == "1"
    assert time.monotonic() - began < 10


def test_token_fails_its_task_with_error_and_cause(cloud: LocalCloud) -> None:
    payload = {"action": "token", "name": "failed", "token": "{% $states.context.Task.Token %}"}
    waiting = call(payload, Resource="arn:aws:states:::lambda:invoke.waitForTaskToken", TimeoutSeconds=30, End=True)
    execution = start(cloud, machine(cloud, "token-failed", {"A": waiting}))
    cloud.client("stepfunctions").send_task_failure(taskToken=token(cloud, "failed"), error="Lost", cause="why")
    done = ended(cloud, execution)
    assert (done["error"], done["cause"]) == ("Lost", "why")


@pytest.mark.parametrize(("name", "seconds"), [("TimeoutSeconds", 30), ("HeartbeatSeconds", 1)])
def test_missing_heartbeat_and_timeout_end_the_task(cloud: LocalCloud, name: str, seconds: int) -> None:
    payload = {"action": "token", "name": name, "token": "{% $states.context.Task.Token %}"}
    limits = {"TimeoutSeconds": 30, "HeartbeatSeconds": 1} if name == "HeartbeatSeconds" else {"TimeoutSeconds": 1}
    caught = {"ErrorEquals": ["States.Timeout", "States.HeartbeatTimeout"], "Output": {"caught": True}, "Next": "B"}
    waiting = call(payload, Catch=[caught], End=True, **limits)
    waiting["Resource"] = "arn:aws:states:::lambda:invoke.waitForTaskToken"
    done = run(cloud, f"late-{name}", {"A": waiting, "B": {"Type": "Pass", "End": True}})
    assert json.loads(done["output"]) == {"caught": True}


def test_execution_timeout_ends_it(cloud: LocalCloud) -> None:
    done = run(cloud, "timeout", {"A": {"Type": "Wait", "Seconds": 30, "End": True}}, TimeoutSeconds=1)
    assert done["status"] == "TIMED_OUT"


def test_stopped_execution_runs_no_catch_and_says_why(cloud: LocalCloud) -> None:
    caught = [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]
    payload = {"action": "token", "name": "stopped", "token": "{% $states.context.Task.Token %}"}
    waiting = call(payload, Resource="arn:aws:states:::lambda:invoke.waitForTaskToken", Catch=caught, Next="Caught")
    states = {"A": waiting, "Caught": call({"action": "note", "detail": {"ran": "caught"}}, End=True)}
    execution = start(cloud, machine(cloud, "stop", states))
    token(cloud, "stopped")
    cloud.client("stepfunctions").stop_execution(executionArn=execution, error="Enough", cause="by hand")
    done = ended(cloud, execution)
    assert (done["status"], done["error"], done["cause"]) == ("ABORTED", "Enough", "by hand")
    told = cloud.wait_for(lambda: noted(cloud, executionArn=execution, status="ABORTED"), 10)
    assert told[0]["detail-type"] == "Step Functions Execution Status Change"
    assert not noted(cloud, ran="caught")


def test_same_name_and_input_is_the_running_execution(cloud: LocalCloud) -> None:
    arn = machine(cloud, "same", {"A": {"Type": "Wait", "Seconds": 1, "End": True}})
    first = start(cloud, arn, {"a": 1}, name="twice")
    assert start(cloud, arn, {"a": 1}, name="twice") == first
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        start(cloud, arn, {"a": 2}, name="twice")
    ended(cloud, first)
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        start(cloud, arn, {"a": 1}, name="twice")


def test_history_can_be_read_while_it_runs(cloud: LocalCloud) -> None:
    execution = start(cloud, machine(cloud, "history", {"A": {"Type": "Wait", "Seconds": 1, "End": True}}))
    client = cloud.client("stepfunctions")

    def entered() -> bool:
        events = client.get_execution_history(executionArn=execution)["events"]
        return any(event.get("stateEnteredEventDetails", {}).get("name") == "A" for event in events)

    cloud.wait_for(entered, 5)
    assert client.describe_execution(executionArn=execution)["status"] == "RUNNING"
    ended(cloud, execution)


@pytest.mark.parametrize(
    "definition", ["{", '{"StartAt": "A"}', '{"StartAt": "B", "States": {"A": {"Type": "Succeed"}}}']
)
def test_bad_definition_is_refused_when_it_is_created(cloud: LocalCloud, definition: str) -> None:
    with pytest.raises(ClientError, match="InvalidDefinition"):
        cloud.client("stepfunctions").create_state_machine(
            name="bad", definition=definition, roleArn=cloud.outputs["probe-control"]["MachineRoleArn"]
        )


def test_payload_above_the_limit_is_refused(cloud: LocalCloud) -> None:
    done = run(cloud, "large", {"A": call({"action": "large", "bytes": 262_145}, End=True)})
    assert (done["status"], done["error"]) == ("FAILED", "States.DataLimitExceeded")
    arn = machine(cloud, "large-input", {"A": {"Type": "Succeed"}})
    with pytest.raises(ClientError, match="262144"):
        start(cloud, arn, {"a": "x" * 262_144})


def test_transitions_and_lambda_states_are_quick(cloud: LocalCloud) -> None:
    """Beside a call of the same function: a wait for the next look would be many times that. Of a few, the least."""
    function, lambda_state = cloud.client("lambda"), call({"action": "none"}, End=True)
    one = machine(cloud, "quick-1", {"A": lambda_state})
    passes: dict[str, Any] = {f"S{n}": {"Type": "Pass", "Next": f"S{n + 1}"} for n in range(20)}
    many = machine(cloud, "quick-21", {**passes, "S20": lambda_state})

    def called() -> float:
        began = time.monotonic()
        function.invoke(FunctionName="probe", Payload=json.dumps({"action": "none"}))
        return time.monotonic() - began

    def executed(arn: str) -> float:
        done = ended(cloud, start(cloud, arn))
        return float((done["stopDate"] - done["startDate"]).total_seconds())

    seconds = [(called(), executed(one), executed(many)) for _ in range(8)]
    call_alone, lambda_state_alone, all_states = map(min, *seconds)
    assert lambda_state_alone < 20 * call_alone, seconds
    assert all_states < 20 * lambda_state_alone, seconds


def test_branch_that_ends_with_an_error_of_step_functions_ends_its_state_with_it(cloud: LocalCloud) -> None:
    failing = {
        "StartAt": "Undefined",
        "States": {"Undefined": {"Type": "Pass", "Output": "{% $states.input.absent %}", "End": True}},
    }
    items = {"Type": "Map", "Items": [1], "ItemProcessor": failing, "End": True}
    mapped = {"StartAt": "Each", "States": {"Each": items}}
    fine = {"StartAt": "Fine", "States": {"Fine": {"Type": "Pass", "Output": {"fine": True}, "End": True}}}
    for name, failed in (("parallel", failing), ("map", mapped)):
        done = run(cloud, f"ends-{name}", {"Both": {"Type": "Parallel", "Branches": [failed, fine], "End": True}})
        assert (done["status"], done["error"]) == ("FAILED", "States.QueryEvaluationError"), done
        assert "absent" in done["cause"]


def test_items_that_run_out_of_time_are_caught_each_by_itself(cloud: LocalCloud) -> None:
    slow = call({"action": "sleep", "seconds": "{% $states.input %}"}, TimeoutSeconds=1, Output={}, End=True)
    caught = {**slow, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Left"}]}
    each = {
        "StartAt": "Slow",
        "States": {"Slow": caught, "Left": {"Type": "Pass", "Output": {"left": True}, "End": True}},
    }
    items = {"Type": "Map", "Items": [0, 2, 0, 2, 2], "ItemProcessor": each, "End": True}
    branch = {"StartAt": "Each", "States": {"Each": items}}
    done = run(cloud, "out-of-time", {"Both": {"Type": "Parallel", "Branches": [branch], "End": True}})
    assert done["status"] == "SUCCEEDED", done
    assert json.loads(done["output"]) == [[{}, {"left": True}, {}, {"left": True}, {"left": True}]]
